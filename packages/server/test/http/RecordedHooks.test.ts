import { assert, describe, layer } from "@effect/vitest"
import { hookDialects } from "@reins/testing/forge/ForgeHookCalls"
import { hookNames, recordedHook } from "@reins/testing/forge/Recorded"
import { Effect } from "effect"
import { Caller, change, send, service } from "../Service.js"

const forges = ["github", "gitlab", "gitea"] as const

describe("the address that the world calls", () => {
  layer(service(), { excludeTestServices: true })("takes", (it) => {
    for (const forge of forges)
      it.effect(`each recorded hook of ${forge} at once, with the headers of the forge, and once only`, () =>
        Effect.gen(function* () {
          const { bearer } = yield* Caller
          const { json } = yield* send("GET", "/api/workspaces", { headers: bearer })
          const workspace = `/api/workspaces/${Object(json).items[0].id}`
          const made = yield* change("POST", `${workspace}/hooks`, {
            headers: bearer,
            body: { kind: forge, label: "recorded" }
          })
          const { id, path, secret } = Object(made.json)
          const calls = hookNames(forge).map((name) => {
            const { body, event } = recordedHook(forge, name, {})
            const text = JSON.stringify(body)
            const named = { event, type: event }
            const headers = hookDialects[forge].headers(named, { id: name, hook: 1, secret, body: text })
            return { name, event, text, headers: { "content-type": "application/json", ...headers } }
          })
          const post = ({ headers, text }: (typeof calls)[number]) => send("POST", path, { headers, body: text })
          const answers = yield* Effect.forEach([...calls, ...calls], post, { concurrency: "unbounded" })
          assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([202]))
          const outcomes = answers.map(({ json }) => Object(json).outcome)
          assert.lengthOf(
            outcomes.filter((outcome) => outcome === "duplicate"),
            calls.length
          )
          const receipts = yield* send("GET", `/api/hooks/${id}/receipts?limit=100`, { headers: bearer })
          const told: ReadonlyArray<unknown> = Object(receipts.json).items
          const read = told.map((each) => {
            const { delivery_id, event, proven, size } = Object(each)
            return `${delivery_id} ${event} ${size} ${proven}`
          })
          const sent = calls.map(({ event, name, text }) => `${name} ${event} ${Buffer.byteLength(text)} true`)
          assert.deepStrictEqual(read.toSorted(), sent.toSorted())
        })
      )
  })
})
