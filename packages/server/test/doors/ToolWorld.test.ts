import { assert, describe, layer } from "@effect/vitest"
import { Server } from "@reins/server/Server"
import { tenthOf, tryBorder } from "@reins/testing/world/Border"
import { changesOfField } from "@reins/testing/world/Changes"
import { inJson } from "@reins/testing/world/Speaker"
import { Effect } from "effect"
import { service } from "../Service.js"
import { newPerson } from "./OauthPerson.js"

interface Tool {
  readonly name: string
  readonly inputSchema: {
    readonly properties?: Readonly<Record<string, { readonly type?: string; readonly enum?: ReadonlyArray<unknown> }>>
  }
}

const valueOf = ({
  enum: words,
  type
}: {
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
}): unknown => {
  if (words !== undefined) return words[0]
  if (type === "integer" || type === "number") return 1
  if (type === "boolean") return true
  return type === "array" ? [] : type === "object" ? {} : "x"
}

/** A sentence for a model, without the words of a fault. */
const isSentence = (text: string): boolean =>
  text.trim() !== "" && text.length <= 4000 && !/internal (?:server )?error|defect|\n {4}at /i.test(text)

describe("the world of assistants", () => {
  layer(service(), { excludeTestServices: true, timeout: 120_000 })((it) => {
    it.effect("each argument of each tool", () =>
      Effect.gen(function* () {
        const { url } = yield* Server
        const { bearer } = yield* newPerson
        const post = (method: string, params: object) =>
          Effect.promise(async () => {
            const answer = await fetch(`${url}/mcp`, {
              method: "POST",
              headers: { "content-type": "application/json", accept: "application/json", ...bearer },
              body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
            })
            const text = await answer.text()
            return { status: answer.status, text, message: text.startsWith("{") ? JSON.parse(text) : {} }
          })
        const { message } = yield* post("tools/list", {})
        const tools: ReadonlyArray<Tool> = message.result.tools
        assert.isAbove(tools.length, 3)
        let all = 0
        for (const { inputSchema, name } of tools) {
          const fields = Object.entries(inputSchema.properties ?? {})
          const given = Object.fromEntries(fields.map(([field, schema]) => [field, valueOf(schema)]))
          const changes = fields.flatMap(([field]) => changesOfField([field]))
          const { tried, wrong } = yield* tryBorder({
            name: `assistants: the arguments of ${name}`,
            changes: tenthOf(changes),
            ask: (change) =>
              Effect.gen(function* () {
                const { text } = change.apply({ ...inJson, text: JSON.stringify(given) })
                const { message, status } = yield* post("tools/call", { name, arguments: JSON.parse(text) })
                if (status >= 500) return [`it is a failure of the server: ${status}`]
                const { error, result } = message
                if (error !== undefined)
                  return error.code === -32602 && isSentence(error.message) ? [] : [`${error.code}: ${error.message}`]
                if (result === undefined) return ["there is no answer"]
                const words = JSON.stringify(result.content ?? "")
                return result.isError === true && !isSentence(words) ? [`no sentence: ${words.slice(0, 200)}`] : []
              })
          })
          assert.deepStrictEqual(wrong, [])
          all += tried
        }
        assert.isAbove(all, 30)
      })
    )
  })
})
