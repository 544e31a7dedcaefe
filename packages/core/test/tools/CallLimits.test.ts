import { assert, describe, it } from "@effect/vitest"
import { type CoreLimits, defaultLimits } from "@reins/base/base/CoreLimits"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import type { ProjectServer } from "@reins/core/projects/ProjectServer"
import { Projects } from "@reins/core/projects/Projects"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { CallLedger } from "@reins/core/tools/CallLedger"
import { faultsOf } from "@reins/testing/Faults"
import { mcpServer } from "@reins/testing/mcp/McpServer"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Fiber, Schedule } from "effect"
import { begin, project } from "../mcp/ServerAgent.js"
import { agentOf, newAgent } from "./CallingAgent.js"

const lookup = {
  name: "lookup_ticket",
  description: "Looks a ticket up.",
  input_schema: { type: "object", properties: { ticket: { type: "integer" } }, required: ["ticket"] }
}

/** An agent with a function, whose calls stay open until somebody answers them. */
const withFunction = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const interactions = yield* Interactions
  const session = yield* (yield* Sessions).create(principal, workspaceId, { tools: { functions: [lookup] } })
  yield* (yield* Messages).send(principal, session.id, { content: "Triage it." })
  const agent = yield* agentOf(principal, session.id)
  const pending = Effect.map(
    interactions.list(principal, session.id, { state: "pending", limit: 200 }),
    ({ items }) => items
  )
  const asked = (count: number) =>
    Effect.repeat(pending, { until: ({ length }) => length >= count, schedule: Schedule.spaced("5 millis") }).pipe(
      Effect.zipRight(pending)
    )
  const lookUp = (ticket: number) => agent.call("lookup_ticket", { ticket })
  return { agent, asked, interactions, lookUp, principal }
})

const servers = (counts: ReadonlyArray<number>): ReadonlyArray<ProjectServer> =>
  counts.map((count, at) => ({
    name: `lab${at}`,
    url: "https://lab.example/mcp",
    allow: Array.from({ length: count }, (_, tool) => `tool_${tool}`)
  }))

const ones = (count: number) => Array.from({ length: count }, () => 1)

const faultOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) =>
    error instanceof RequestInvalid ? faultsOf(error).map(({ loc, msg }) => [loc.join("."), msg]) : error
  )

const image = { type: "image", data: "aGk=", mimeType: "image/png" }
const block = { type: "image", data: "aGk=", mime_type: "image/png" } as const
const words = { type: "text", text: "A picture." } as const

/** The bench opens 64. Each open call is a row that all who wait read again and again, so fewer prove the same. */
const most = 8

for (const { layer, name } of flowDatabases) {
  describe(`the limits of calls on ${name}`, () => {
    const withLimits = (more: Partial<CoreLimits> = {}) =>
      Effect.provide(services(layer, { limits: { ...defaultLimits, ...more }, allowPrivateHosts: ["127.0.0.1"] }))

    it.scopedLive(`${most} calls are open at once, the next is told to wait, and one that ends makes room`, () =>
      Effect.gen(function* () {
        const { asked, interactions, lookUp, principal } = yield* withFunction
        const open = yield* Effect.forEach(
          Array.from({ length: most - 1 }, (_, ticket) => ticket),
          (ticket) => Effect.fork(lookUp(ticket))
        )
        const ended = Effect.flatMap(Effect.raceAll(open.map(Fiber.join)), ({ text }) => Effect.dieMessage(text))
        yield* Effect.raceFirst(asked(most - 1), ended)
        const last = yield* Effect.fork(lookUp(most - 1))
        const calls = yield* asked(most)
        const refused = yield* lookUp(most)
        assert.isTrue(refused.is_error)
        assert.strictEqual(
          refused.text,
          `At most ${most} calls may be open at once. Wait for one of them, then call again.`
        )
        for (const { id } of calls.slice(0, 1)) yield* interactions.answer(principal, id, { result: "found" })
        yield* Effect.raceAll([...open, last].map((fiber) => Fiber.join(fiber)))
        const again = yield* Effect.fork(lookUp(1000))
        yield* Effect.repeat(asked(most), {
          until: (found) =>
            found.some(({ tool }) => tool?.input !== undefined && JSON.stringify(tool.input) === '{"ticket":1000}')
        })
        yield* Fiber.interruptAll([...open, last, again])
      }).pipe(withLimits({ openToolCalls: most }))
    )

    it.scopedLive("a turn makes as many calls as it may, and is told to go on without tools after them", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const agent = yield* newAgent(principal, workspaceId)
        const looks = [1, 2, 3].map(() => agent.call("wait", { seconds: 0 }))
        for (const look of looks) assert.isFalse((yield* look).is_error)
        const refused = yield* agent.call("wait", { seconds: 0 })
        assert.isTrue(refused.is_error)
        assert.include(refused.text, "A turn makes at most 3 calls of tools, and this one has made them. Go on without")
        // A call that was refused has not happened, and the turn can still wait on for one that has.
        assert.lengthOf((yield* (yield* CallLedger).list(agent.turn.id, {})).items, 3)
        assert.include((yield* agent.call("await_call", { call_id: "call-0" })).text, "No call call-0")
      }).pipe(withLimits({ toolCallsPerTurn: 3 }))
    )

    it.scopedLive(
      "a function answers with as many images as it may, and each further one is refused at its place",
      () =>
        Effect.gen(function* () {
          const { asked, interactions, lookUp, principal } = yield* withFunction
          for (const [count, images] of [
            [3, 3],
            [4, 4]
          ] as const) {
            const calling = yield* Effect.fork(lookUp(count))
            const [call] = yield* asked(1)
            const blocks = [words, ...Array.from({ length: count }, () => block)]
            yield* interactions.answer(principal, call?.id ?? "", { blocks })
            assert.lengthOf((yield* Fiber.join(calling)).images ?? [], images)
          }
          yield* Effect.fork(lookUp(5))
          const [call] = yield* asked(1)
          const blocks = [block, block, words, block, block, block, block]
          const problem =
            "Input should be text: an answer has at most 4 images. Give fewer, or answer with their addresses"
          assert.deepStrictEqual(yield* faultOf(interactions.answer(principal, call?.id ?? "", { blocks })), [
            ["body.blocks.5", problem],
            ["body.blocks.6", problem]
          ])
        }).pipe(withLimits())
    )

    it.scopedLive("an answer of a server has as many images as it may, and says how many are left out", () =>
      Effect.gen(function* () {
        const server = yield* mcpServer()
        const agent = yield* begin(yield* project({ name: "lab", url: server.url, allow: ["get_issue"] }, false))
        const answerWith = Effect.fnUntraced(function* (images: number) {
          server.result = { content: Array.from({ length: images }, () => image) }
          const answer = yield* agent.call("get_issue")
          return [answer.images?.length, answer.text.includes("left out") ? answer.text : null]
        })
        assert.deepStrictEqual(yield* answerWith(1), [1, null])
        assert.deepStrictEqual(yield* answerWith(2), [2, null])
        assert.deepStrictEqual(yield* answerWith(5), [
          2,
          "[3 of 5 images are left out: an answer has at most 2. Ask for fewer at once.]"
        ])
      }).pipe(withLimits({ toolAnswerImages: 2 }))
    )

    it.scopedLive("an answer of a server is as long as it may be, and a byte more is told with the limit", () =>
      Effect.gen(function* () {
        const server = yield* mcpServer()
        const agent = yield* begin(yield* project({ name: "lab", url: server.url, allow: ["get_issue"] }, false))
        // The request before the call has the same length of its id, so the frame around the text stays the same.
        const frame = JSON.stringify({
          jsonrpc: "2.0",
          id: 2,
          result: { content: [{ type: "text", text: "" }] }
        }).length
        const answerOf = (bytes: number) => {
          server.result = { content: [{ type: "text", text: "x".repeat(bytes - frame) }] }
          return agent.call("get_issue")
        }
        for (const bytes of [3999, 4000]) {
          const answer = yield* answerOf(bytes)
          assert.strictEqual(answer.text, "x".repeat(bytes - frame))
        }
        const refused = yield* answerOf(4001)
        assert.isTrue(refused.is_error)
        assert.include(refused.text, "answers with more than 4000 bytes. Ask it for less at once.")
        assert.include(refused.text, "may have happened")
      }).pipe(withLimits({ serverAnswerBytes: 4000 }))
    )

    it.scopedLive("an answer that the model gets whole is as long as it may be, and one character more is cut", () =>
      Effect.gen(function* () {
        const server = yield* mcpServer()
        const agent = yield* begin(yield* project({ name: "lab", url: server.url, allow: ["get_issue"] }, false))
        const answerOf = (characters: number) => {
          server.result = { content: [{ type: "text", text: "x".repeat(characters) }] }
          return Effect.map(agent.call("get_issue"), ({ text }) => text)
        }
        for (const characters of [1999, 2000]) assert.strictEqual((yield* answerOf(characters)).length, characters)
        assert.match(
          yield* answerOf(2001),
          /\[1 characters are left out. The whole is in ~\/attachments\/\w+\/answer.txt\]/
        )
      }).pipe(withLimits({ toolAnswerCharacters: 2000 }))
    )

    it.scopedLive("a version names as many servers, and allows as many tools, as it may, and no more", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const projects = yield* Projects
        const { id } = yield* projects.create(principal, workspaceId, { slug: "p", name: "P" })
        const publish = (counts: ReadonlyArray<number>) =>
          projects.publish(principal, id, { spec: { tools: { mcp_servers: servers(counts) } } })
        for (const counts of [ones(19), ones(20), [63], [64], [40, 24]]) yield* publish(counts)
        const place = "body.spec.tools.mcp_servers"
        assert.deepStrictEqual(yield* faultOf(publish(ones(21))), [
          [place, "Input names 21 servers, and a version names at most 20. Name fewer"]
        ])
        const tooMany = [
          [place, "Input allows 65 tools, and the servers of a version have at most 64: lab1 40, lab0 25. Allow fewer"]
        ]
        assert.deepStrictEqual(yield* faultOf(publish([25, 40])), tooMany)
        const spec = { tools: { mcp_servers: servers([25, 40]) } }
        assert.deepStrictEqual(
          yield* faultOf(projects.create(principal, workspaceId, { slug: "q", name: "Q", spec })),
          tooMany
        )
      }).pipe(withLimits())
    )

    it.scopedLive(
      "the limits of servers and tools are settings, and tools stay within those that an agent is offered",
      () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const projects = yield* Projects
          const { id } = yield* projects.create(principal, workspaceId, { slug: "p", name: "P" })
          const publish = (counts: ReadonlyArray<number>) =>
            projects.publish(principal, id, { spec: { tools: { mcp_servers: servers(counts) } } })
          yield* publish(ones(30))
          assert.include(JSON.stringify(yield* faultOf(publish(ones(31)))), "at most 30")
          // 100 tools are offered, and 10 of them are of the service.
          yield* publish([90])
          assert.include(JSON.stringify(yield* faultOf(publish([91]))), "at most 90: lab0 91")
        }).pipe(withLimits({ serversPerVersion: 30, serverToolsPerVersion: 200 }))
    )
  })
}
