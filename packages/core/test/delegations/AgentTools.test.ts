import { assert, describe, it } from "@effect/vitest"
import type { Principal } from "@reins/base/domain/Principal"
import { DelegationResults } from "@reins/core/delegations/DelegationResults"
import { Delegations } from "@reins/core/delegations/Delegations"
import type { OwnTool } from "@reins/core/projects/Project"
import { Projects } from "@reins/core/projects/Projects"
import { Messages } from "@reins/core/sessions/Messages"
import type { Turn } from "@reins/core/sessions/rows/Turn"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { CallLedger } from "@reins/core/tools/CallLedger"
import { callingAgents } from "@reins/testing/harness/SmallAgent"
import { eventually } from "@reins/testing/process/Waiting"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { type Gateway, script } from "reins-example-scripted-gateway/gateway.mjs"
import { isTurnEnd, makeRemote, withAgent } from "../execution/Agent.js"
import { toldBy } from "./Told.js"

/** The number of times that the conversation of the newest model call holds words of somebody else than the model. */
const toldTo = (gateway: Gateway, words: string): number =>
  (gateway.requests.at(-1)?.messages ?? []).filter(({ role, text }) => role === "user" && text.includes(words)).length

const childWrites = script(
  "Write the file.",
  { tool: "write", path: "child.txt", content: "from the child\n" },
  { say: "It is there." }
)

const delegate = (args: object = {}) => ({
  tool: "delegate",
  args: { name: "writer", instructions: childWrites, ...args }
})

/** The states of the tool calls of a turn by tool, oldest first. */
const callsOf = (turn: Turn) =>
  Effect.gen(function* () {
    const { items } = yield* (yield* CallLedger).list(turn.id, {})
    return [...items].reverse().map(({ state, tool }) => `${tool} ${state}`)
  })

const childrenOf = (principal: Principal, sessionId: string) =>
  Effect.gen(function* () {
    return (yield* (yield* Delegations).list(principal, sessionId, {})).items
  })

for (const { layer: database, name } of flowDatabases) {
  describe(`the tools of agents on ${name}`, () => {
    it.scopedLive(
      "an agent delegates, waits, reads the diff of the result and knows the same work again by its name",
      () =>
        withAgent(
          "alpha_gateway",
          ({ directory, gateway, principal, runTurn, workspaceId }) =>
            Effect.gen(function* () {
              const session = yield* (yield* Sessions).create(principal, workspaceId, {
                repository: { url: makeRemote(directory).url }
              })
              const turn = yield* runTurn(
                session.id,
                script(
                  "Split this up.",
                  delegate(),
                  { tool: "wait", args: { delegation_ids: ["writer"] } },
                  { tool: "read_diff", args: { delegation_id: "writer" } },
                  delegate({ instructions: "Write the file, in other words." }),
                  { tool: "message", args: { delegation_id: "writer", content: "Too late." } },
                  { tool: "cancel", args: { delegation_id: "nobody" } },
                  { tool: "delegate", args: { name: "x", instruction: "A misspelt field." } },
                  { say: "Done." }
                )
              )
              assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
              const [made, waited, read, again, message, cancelled, misspelt] = toldBy(gateway)
              const children = yield* childrenOf(principal, session.id)
              assert.lengthOf(children, 1)
              assert.deepInclude(made, { existing: false, name: "writer", delegation_id: children[0]?.id })
              assert.deepInclude(waited, { pending: false })
              assert.include(waited?.text, '"summary":"It is there."')
              assert.include(String(read?.["diff"]), "+from the child")
              assert.deepInclude(read, { next_offset: null, files: 1 })
              assert.deepInclude(again, { existing: true, state: "succeeded", delegation_id: children[0]?.id })
              assert.include(message?.text, 'Error: The work "writer" has ended: it is succeeded')
              assert.include(cancelled?.text, 'Error: This session has no delegation "nobody"')
              assert.include(misspelt?.text, "instructions: is missing.")
              assert.include(misspelt?.text, "instruction: is unexpected")
              assert.deepStrictEqual(yield* callsOf(turn), [
                "delegate succeeded",
                "wait succeeded",
                "read_diff succeeded",
                "delegate succeeded",
                "message failed",
                "cancel failed",
                "delegate failed"
              ])
            }),
          {},
          callingAgents,
          database
        )
    )

    it.scopedLive(
      "a child gives a result that its schema refuses, mends it, and the result is published with its changes",
      () =>
        withAgent(
          "alpha_gateway",
          ({ directory, eventsUntil, gateway, principal, runTurn, workspaceId }) =>
            Effect.gen(function* () {
              const session = yield* (yield* Sessions).create(principal, workspaceId, {
                repository: { url: makeRemote(directory).url }
              })
              const instructions = script(
                "Count.",
                { tool: "write", path: "count.txt", content: "4\n" },
                { tool: "submit_result", args: { value: { count: "four" }, summary: "Counted." } },
                { tool: "submit_result", args: { value: { count: 4 }, summary: "Counted." } },
                { tool: "submit_result", args: { value: { count: 4 }, summary: "Counted." } },
                { tool: "submit_result", args: { value: { count: 5 }, summary: "Counted anew." } },
                { say: "I have counted." }
              )
              const schema = { type: "object", properties: { count: { type: "integer" } }, required: ["count"] }
              const turn = yield* runTurn(
                session.id,
                script(
                  "Have it counted.",
                  { tool: "delegate", args: { name: "counter", instructions, result_schema: schema } },
                  { tool: "wait", args: { for: "any", seconds: 60 } },
                  { say: "Done." }
                )
              )
              assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
              const [child] = yield* childrenOf(principal, session.id)
              assert.strictEqual(child?.state, "succeeded", JSON.stringify(child))
              const result = yield* (yield* DelegationResults).get(principal, child?.id ?? "")
              assert.deepInclude(result, { summary: "Counted.", value: { count: 4 } })
              assert.isNotNull(result.changeset_id)
              const told = toldBy(gateway).map(({ text }) => text)
              assert.include(told[1], "The value does not fit. value.count: Input must be integer")
              assert.include(told[2], '"accepted":true')
              assert.include(told[3], '"accepted":true')
              assert.include(told[4], "result_already_set")
              const events = yield* eventsUntil(child?.child_session_id ?? "", isTurnEnd)
              assert.deepStrictEqual(
                events.filter(({ type }) => type === "turn.result_checked").map(({ payload }) => payload["ok"]),
                [false, true]
              )
            }),
          {},
          callingAgents,
          database
        )
    )

    it.scopedLive(
      "a message asks for a result of a shape: it is given, given after one further prompt, or the turn says why not",
      () =>
        withAgent(
          "alpha_gateway",
          ({ eventsUntil, gateway, principal, workspaceId }) =>
            Effect.gen(function* () {
              const session = yield* (yield* Sessions).create(principal, workspaceId, {})
              const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] }
              const submit = (value: unknown) => ({ tool: "submit_result", args: { value, summary: "Looked." } })
              const ask = Effect.fnUntraced(function* (...steps: ReadonlyArray<object>) {
                const sent = yield* (yield* Messages).send(principal, session.id, {
                  content: script("Look.", ...steps),
                  result_schema: schema
                })
                yield* eventsUntil(session.id, (event) => event.turn_id === sent.turn_id && isTurnEnd(event))
                const turn = yield* (yield* Turns).get(principal, sent.turn_id ?? "")
                return [turn.state, turn.reason, turn.result]
              })
              assert.deepStrictEqual(yield* ask(submit({ ok: true }), { say: "Done." }), [
                "succeeded",
                null,
                { value: { ok: true }, summary: "Looked.", tries: 1 }
              ])
              assert.deepStrictEqual(yield* ask({ say: "I forgot it." }), ["failed", "result_missing", null])
              const reminders = toldTo(gateway, "You have stopped without a result. Give it now")
              assert.strictEqual(reminders, 1)
              assert.deepStrictEqual(yield* ask(submit(1), { say: "Enough." }), ["failed", "result_invalid", null])
              const many = Array.from({ length: 6 }, () => submit(2))
              assert.deepStrictEqual(yield* ask(...many, { say: "Enough." }), ["failed", "result_invalid", null])
              const refused = yield* Effect.flip(
                (yield* Messages).send(principal, session.id, { content: "x", result_schema: { type: "strin" } })
              )
              assert.include(refused.message, "result_schema")
              const note = yield* Effect.flip(
                (yield* Messages).send(principal, session.id, { content: "x", routing: "note", result_schema: schema })
              )
              assert.include(note.message, "only a message that starts a turn has a result_schema")
            }),
          {},
          callingAgents,
          database
        )
    )

    it.scopedLive("a project version narrows the tools, and one with an empty list offers none", () =>
      withAgent(
        "alpha_gateway",
        ({ gateway, principal, runTurn, workspaceId }) =>
          Effect.gen(function* () {
            const projects = yield* Projects
            const project = yield* projects.create(principal, workspaceId, { slug: "p", name: "P" })
            const offered = Effect.fnUntraced(function* (own: ReadonlyArray<OwnTool>) {
              yield* projects.publish(principal, project.id, { spec: { tools: { own } } })
              const session = yield* (yield* Sessions).create(principal, workspaceId, { project_id: project.id })
              yield* runTurn(session.id, script("Say it.", { say: "Yes." }))
              return gateway.requests.at(-1)?.tools.filter((name) => name.startsWith("reins"))
            })
            assert.deepStrictEqual(yield* offered(["delegate", "wait"]), [
              "reins_delegate",
              "reins_wait",
              "reins_await_call"
            ])
            assert.deepStrictEqual(yield* offered([]), [])
          }),
        {},
        callingAgents,
        database
      )
    )

    it.scopedLive(
      "an agent acts for the account that sent the message: once that may only read, its calls are refused",
      () =>
        withAgent(
          "alpha_gateway",
          ({ gateway, principal, runTurn, workspaceId }) =>
            Effect.gen(function* () {
              const session = yield* (yield* Sessions).create(principal, workspaceId, {})
              const { run, sql } = yield* Database
              // The sender of the message loses its role while the agent works.
              const removal = Effect.gen(function* () {
                yield* Effect.promise(() => eventually("the model is asked", () => gateway.requests.length > 0))
                yield* (yield* Journal).commit(
                  run(sql`update workspace_members set role = 'viewer' where account_id = ${principal.accountId}`)
                )
              })
              const [, turn] = yield* Effect.all(
                [
                  removal,
                  runTurn(
                    session.id,
                    script(
                      "Do.",
                      { tool: "bash", cmd: "sleep 2" },
                      { tool: "delegate", args: { name: "x", instructions: "y" } },
                      { say: "Done." }
                    )
                  )
                ],
                { concurrency: 2 }
              )
              // The call is refused, unless the turn was ended for the lost right before.
              if (turn.state === "succeeded")
                assert.include(toldBy(gateway).at(-1)?.text, "The sender of the message of this turn")
              else assert.deepInclude(turn, { state: "cancelled", reason: "access_lost" })
              assert.isEmpty(yield* childrenOf(principal, session.id))
            }),
          {},
          callingAgents,
          database
        )
    )
  })
}
