import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { judgeTools } from "@reins/core/mcp/JudgedTools"
import type { OpenServer } from "@reins/core/mcp/OpenServer"
import type { ServerLink } from "@reins/core/mcp/ServerClient"
import type { ServerFailed } from "@reins/core/mcp/ServerFailed"
import { ServerLinks } from "@reins/core/mcp/ServerLinks"
import * as Bubblewrap from "@reins/machine/executor/Bubblewrap"
import { sandboxed } from "@reins/testing/executor/Sandbox"
import { mcpServer } from "@reins/testing/mcp/McpServer"
import { programTold } from "@reins/testing/mcp/StdioServer"
import type { Answer, Change } from "@reins/testing/world/Answer"
import { openBetween } from "@reins/testing/world/Between"
import { tenthOf, tryBorder } from "@reins/testing/world/Border"
import { changesOfAnswer, changesOfElement, changesOfField } from "@reins/testing/world/Changes"
import { Effect, Either, type Scope } from "effect"
import { key, linksWith, openOf } from "./Links.js"

const allow = ["get_issue", "add_comment", "delete_all"]
const tools = ["result", "tools"]

const ofList: ReadonlyArray<Change> = [
  ...changesOfElement(tools, 1, [
    "name",
    "title",
    "description",
    "inputSchema",
    "inputSchema.type",
    "outputSchema",
    "annotations"
  ]),
  ...changesOfAnswer(tools),
  ...["", null].map(
    (nextCursor): Change => ({
      name: `nextCursor ${JSON.stringify(nextCursor)}`,
      kind: "same",
      apply: (answer) => {
        const message = JSON.parse(answer.text)
        return { ...answer, text: JSON.stringify({ ...message, result: { ...message.result, nextCursor } }) }
      }
    })
  )
]

const ofCall: ReadonlyArray<Change> = [
  ...changesOfElement(["result", "content"], 1, ["type", "text", "annotations"]),
  ...changesOfField(["result", "structuredContent"]),
  ...changesOfAnswer(["result", "content"]).filter(({ name }) => !name.startsWith("the list is"))
]

/** A sentence for people: short, of one line, and without what a program says to a program. */
const isSentence = (message: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may stand in a sentence.
  message !== "" && message.length <= 600 && !/[\u0000-\u001f\u202e]|"code":|ZodError|\[object|undefined/.test(message)

const ofFailure = ({ message }: ServerFailed, { kind }: Change): ReadonlyArray<string> => {
  if (kind !== "lost") return [`one costs all: ${message}`]
  return isSentence(message) ? [] : [`no sentence: ${message.slice(0, 300)}`]
}

/** The fault of the tools that are read of a changed list. */
const ofTools = (link: ServerLink, change: Change) =>
  Effect.map(Effect.either(link.list), (found) => {
    if (Either.isLeft(found)) return ofFailure(found.left, change)
    if (change.kind === "lost") return ["nothing was told, and something was read"]
    const judged = judgeTools({ allow }, new Map(), found.right)
    const isOffered = (name: string) => judged.some((tool) => tool.name === name && tool.standing === "offered")
    const problems = ["get_issue", "delete_all"].filter((name) => !isOffered(name)).map((name) => `${name} is lost`)
    if (change.kind === "same" && !isOffered("add_comment")) problems.push("add_comment is lost")
    for (const { reason } of judged) if (reason !== null && !isSentence(reason)) problems.push(`no sentence: ${reason}`)
    return problems
  })

const teller = { name: "say", description: "", input_schema: { type: "object" }, is_read_only: true }

const connected = <A>(opened: OpenServer, ask: (link: ServerLink) => Effect.Effect<A, ServerFailed, Scope.Scope>) =>
  Effect.scoped(
    Effect.flatMap(
      Effect.flatMap(ServerLinks, (links) => links.connect(opened)),
      ask
    )
  )

describe("the world of servers of tools", () => {
  const overHttp = (streams: boolean) =>
    Effect.gen(function* () {
      const server = yield* mcpServer(key)
      const isPicked = { rpc: "tools/list" }
      const between = yield* openBetween(server.url, ({ body }) => body.includes(`"${isPicked.rpc}"`))
      server.streams = streams
      const picked = <A, R>(change: Change, ask: Effect.Effect<A, never, R>) =>
        Effect.gen(function* () {
          Object.assign(between, { change, picked: 0, fault: undefined })
          const found = yield* ask
          if (between.picked === 0 || between.fault !== undefined)
            return yield* Effect.dieMessage(`the change was not made: ${String(between.fault)}`)
          return found
        })
      return { between, isPicked, picked, server, opened: openOf(`${between.url}/mcp`) }
    })

  it.scopedLive("a list over HTTP", () =>
    Effect.gen(function* () {
      const { opened, picked } = yield* overHttp(false)
      const { tried, wrong } = yield* tryBorder({
        name: "servers of tools over HTTP: the list",
        changes: ofList,
        ask: (change) => picked(change, Effect.orDie(connected(opened, (link) => ofTools(link, change))))
      })
      assert.deepStrictEqual(wrong, [])
      assert.isAbove(tried, 90)
    }).pipe(Effect.provide(linksWith()))
  )

  it.scopedLive("an answer to a call over HTTP", () =>
    Effect.gen(function* () {
      const { isPicked, opened, picked, server } = yield* overHttp(false)
      isPicked.rpc = "tools/call"
      const text = (words: string) => ({ type: "text", text: words })
      server.result = { content: [text("first"), text("odd"), text("last")], structuredContent: { a: 1 } }
      const { tried, wrong } = yield* tryBorder({
        name: "servers of tools over HTTP: the answer to a call",
        changes: ofCall,
        ask: (change) =>
          picked(
            change,
            Effect.orDie(
              connected(opened, (link) =>
                Effect.gen(function* () {
                  const [tool] = (yield* link.list).tools
                  if (tool === undefined) return ["there is no tool"]
                  server.calls.splice(0)
                  const found = yield* Effect.either(link.call(tool, {}))
                  const again = server.calls.length > 1 && !/^(?:404|429|503)/.test(change.name) ? ["called twice"] : []
                  if (Either.isLeft(found)) return [...again, ...ofFailure(found.left, change)]
                  const { text } = found.right
                  if (change.kind === "lost") return ["nothing was told, and something was read"]
                  return text.includes("first") && text.includes("last") ? again : [`one costs all: ${text}`]
                })
              )
            )
          )
      })
      assert.deepStrictEqual(wrong, [])
      assert.isAbove(tried, 60)
    }).pipe(Effect.provide(linksWith()))
  )

  sandboxed("a list of a program", () =>
    Effect.gen(function* () {
      const plain: Answer = {
        status: 200,
        headers: {},
        text: JSON.stringify({
          jsonrpc: "2.0",
          id: "ID",
          result: { tools: allow.map((name) => ({ name, description: name, inputSchema: { type: "object" } })) }
        })
      }
      // A program has no status. One that says nothing of the list is waited for, so those are left to the soak, but for a part.
      const spoken = ofList.filter(({ name }) => !/^\d{3} |type|spaces around/.test(name))
      const changes = [
        ...spoken.filter(({ kind }) => kind !== "lost"),
        ...tenthOf(spoken.filter(({ kind }) => kind === "lost"))
      ]
      const bubblewrap = yield* Bubblewrap.make(`boot_world_${process.pid}`)
      const { tried, wrong } = yield* Effect.gen(function* () {
        // The start of a program may take long on a busy machine, so one program says all until it is cut off.
        let count = 0
        const start = Effect.gen(function* () {
          const server = { name: `lab_${count++}`, command: programTold, allow }
          const link = yield* (yield* ServerLinks).connect({ ...openOf(""), headers: {}, server })
          return link
        })
        let link = yield* start
        return yield* tryBorder({
          name: "servers of tools as programs: the list",
          changes,
          ask: (change) =>
            Effect.gen(function* () {
              yield* link.call(teller, { ...change.apply(plain) })
              // Checks ask where interruption is off.
              const problems = yield* Effect.uninterruptible(ofTools(link, change))
              if (change.apply(plain).cut !== undefined) link = yield* start
              return problems
            }).pipe(Effect.orDie)
        })
      }).pipe(Effect.provide(linksWith(undefined, [bubblewrap], mkdtempSync(join(tmpdir(), "reins-world-")))))
      assert.deepStrictEqual(wrong, [])
      assert.strictEqual(tried, changes.length)
    })
  )
})
