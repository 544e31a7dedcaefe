import { assert, it } from "@effect/vitest"
import { Connections } from "@reins/core/connections/Connections"
import { Delegations } from "@reins/core/delegations/Delegations"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Usages } from "@reins/core/sessions/usage/Usages"
import { Database } from "@reins/core/store/Database"
import { hastyAgents } from "@reins/testing/harness/SmallAgent"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { isTurnEnd, withAgent } from "./Agent.js"

type Given = Parameters<Parameters<typeof withAgent>[1]>[0]

/** The scripted gateway says so many tokens for each call. */
const callTokens = 1020

const tool = { tool: "bash", cmd: "true" }

/** Starts a turn and waits until it asks for a higher budget. */
const held = Effect.fnUntraced(function* (
  { eventsUntil, principal }: Pick<Given, "eventsUntil" | "principal">,
  sessionId: string,
  message: Parameters<Messages["Type"]["send"]>[2],
  author: Given["principal"] = principal
) {
  const { turn_id: id = "" } = yield* (yield* Messages).send(author, sessionId, message)
  const isIt = (event: { readonly turn_id?: string | undefined }) => event.turn_id === id
  const [asked] = (yield* eventsUntil(
    sessionId,
    (event) => isIt(event) && (event.type === "turn.action_required" || isTurnEnd(event))
  )).slice(-1)
  assert.strictEqual(asked?.type, "turn.action_required", JSON.stringify(asked))
  const { items } = yield* (yield* Interactions).list(principal, sessionId, { state: "pending" })
  const interaction = items[0] ?? assert.fail("nothing is asked")
  const turn = (yield* Turns).get(principal, id)
  const ended = Effect.zipRight(
    eventsUntil(sessionId, (event) => isIt(event) && isTurnEnd(event)),
    turn
  )
  return { id, interaction, turn, ended }
})

for (const { layer, name } of flowDatabases)
  it.scopedLive(
    `a turn stops at the cap of its session, keeps its context, and goes on when the cap is raised, on ${name}`,
    () =>
      withAgent(
        "alpha_gateway",
        (given) =>
          Effect.gen(function* () {
            const { gateway, principal, runTurn, workspaceId } = given
            const sessions = yield* Sessions
            const calls = () => gateway.requests.filter(({ tools }) => tools.length > 0)
            const { budget: fresh, id } = yield* sessions.create(principal, workspaceId, {
              budget: { max_tokens: callTokens + 1 }
            })
            assert.deepInclude(fresh, { spent_tokens: 0, remaining_tokens: callTokens + 1, exhausted: false })
            const three = script("Remember tangerine.", tool, tool, { say: "Done." })
            const { ended, interaction, turn } = yield* held(given, id, { content: three })
            assert.lengthOf(calls(), 2)
            assert.deepInclude(interaction, {
              kind: "budget",
              budget_of: id,
              default: "stop",
              title: `The budget of the session ${id} is used up`
            })
            assert.include(interaction.description, `2,040 of 1,021 tokens are spent.`)
            assert.include(interaction.description, `PATCH /api/sessions/${id}`)
            assert.strictEqual((yield* turn).state, "requires_action")
            const stopped = yield* sessions.get(principal, id)
            assert.strictEqual(stopped.activity, "requires_action")
            assert.deepInclude(stopped.budget, { spent_tokens: 2040, remaining_tokens: 0, exhausted: true })

            yield* sessions.update(principal, id, { budget: { max_tokens: 2050 } })
            const done = yield* ended
            assert.strictEqual(done.state, "succeeded", JSON.stringify(done))
            assert.lengthOf(calls(), 3)
            assert.include(JSON.stringify(calls().at(-1)?.messages), "tangerine")
            assert.deepInclude(done.usage, { calls: 3, input_tokens: 3000, output_tokens: 60 })
            const { items } = yield* (yield* Interactions).list(principal, id, {})
            assert.deepStrictEqual(
              items.map(({ answer, state }) => [state, answer]),
              [["cancelled", null]]
            )
            const { budget } = yield* sessions.get(principal, id)
            assert.deepInclude(budget, {
              spent_tokens: 3060,
              estimated_calls: 0,
              since: fresh?.since ?? assert.fail("no budget")
            })

            const next = yield* held(given, id, { content: script("What now?", { say: "Nothing." }) })
            const interactions = yield* Interactions
            const unheard = interactions.answer(principal, next.interaction.id, { answer: "stop", note: "Be quick." })
            assert.deepInclude(yield* Effect.flip(unheard), { _tag: "RequestInvalid", loc: ["body", "note"] })
            yield* interactions.answer(principal, next.interaction.id, { answer: "stop" })
            const given_up = yield* next.ended
            assert.deepStrictEqual([given_up.state, given_up.reason], ["failed", "budget_exhausted"])
            assert.include(given_up.reason_message, `Raise it with PATCH /api/sessions/${id}, then retry the turn`)
            assert.lengthOf(calls(), 3)

            yield* sessions.update(principal, id, { budget: null })
            assert.isNull((yield* sessions.get(principal, id)).budget)
            const free = yield* runTurn(id, script("Once more.", { say: "Here." }))
            assert.strictEqual(free.state, "succeeded", JSON.stringify(free))
            assert.include(JSON.stringify(calls().at(-1)?.messages), "tangerine")
          }),
        {},
        undefined,
        layer
      ),
    120_000
  )

it.scopedLive(
  "a child spends the budget of its tree, a workspace one of money, and nobody who raises it ends the turn in time",
  () =>
    withAgent(
      "alpha_gateway",
      (given) =>
        Effect.gen(function* () {
          const { connectionId, eventsUntil, principal, workspaceId } = given
          const sessions = yield* Sessions
          const workspaces = yield* Workspaces
          const parent = yield* sessions.create(principal, workspaceId, { budget: { max_tokens: 500 } })
          const { delegation } = yield* (yield* Delegations).spawn(principal, parent.id, {
            role: "tester",
            instructions: script("Test it.", tool, { say: "Right." })
          })
          const child = delegation.child_session_id
          const [end] = (yield* eventsUntil(child, isTurnEnd)).slice(-1)
          const reason = "budget_exhausted"
          assert.deepNestedInclude(end, { type: "turn.failed", "payload.turn.reason": reason }, JSON.stringify(end))
          const spent = (yield* sessions.get(principal, parent.id)).budget
          assert.deepInclude(spent, { spent_tokens: callTokens, exhausted: true })
          assert.isNull((yield* sessions.get(principal, child)).budget)

          const unpriced = { code: "budget_unenforceable" as const }
          const dollars = { max_cost_usd: 0.003 }
          assert.deepInclude(yield* Effect.flip(sessions.create(principal, workspaceId, { budget: dollars })), unpriced)
          yield* workspaces.update(principal, workspaceId, { budget: dollars })
          const { id } = yield* sessions.create(principal, workspaceId, {})
          const send = (yield* Messages).send(principal, id, { content: script("Try.", tool, tool, { say: "Done." }) })
          assert.deepInclude(yield* Effect.flip(send), unpriced)
          yield* (yield* Connections).update(principal, connectionId, {
            prices: { "scripted-1": { input: 2, cached: 0.5, output: 10 } }
          })
          yield* send
          const [last] = (yield* eventsUntil(id, isTurnEnd)).slice(-1)
          assert.deepNestedInclude(last, { type: "turn.failed", "payload.turn.reason": reason }, JSON.stringify(last))
          const { budget } = yield* workspaces.get(principal, workspaceId)
          // Each call costs 900 fresh tokens, 100 from a cache and 20 of output.
          assert.deepInclude(budget, { spent_cost_usd: 0.0041, remaining_cost_usd: 0, spent_tokens: 2 * callTokens })
          yield* workspaces.update(principal, workspaceId, { budget: null })
          const { total } = yield* (yield* Usages).workspace(principal, workspaceId, {})
          assert.deepInclude(total, { turns: 2, input_tokens: 3000, cost_usd: 0.0041 })
        }),
      { interactionExpiryMs: 1500 }
    ),
  120_000
)

it.scopedLive(
  "a turn has a budget of its own and one of its key, which are raised while it waits, and a retry has the first one anew",
  () =>
    withAgent("alpha_gateway", (given) =>
      Effect.gen(function* () {
        const { eventsUntil, principal, workspaceId } = given
        const turns = yield* Turns
        const { id } = yield* (yield* Sessions).create(principal, workspaceId, {})
        const message = { content: script("Try.", tool, { say: "Done." }), budget: { max_tokens: 1 } }
        const first = yield* held(given, id, message)
        assert.deepInclude((yield* first.turn).budget, { max_tokens: 1, spent_tokens: callTokens, exhausted: true })
        yield* turns.update(principal, first.id, { budget: { max_tokens: 5000 } })
        assert.strictEqual((yield* first.ended).state, "succeeded")
        assert.deepInclude(yield* Effect.flip(turns.update(principal, first.id, { budget: null })), {
          code: "invalid_transition"
        })
        const again = yield* turns.retry(principal, first.id)
        assert.deepInclude(again.budget, { max_tokens: 5000, spent_tokens: 0 })
        yield* eventsUntil(id, (event) => event.turn_id === again.id && isTurnEnd(event))

        const keys = yield* ApiKeys
        const key = yield* keys.create(principal, { name: "robot", budget: { max_tokens: 1 } })
        const robot = { ...principal, via: { kind: "api_key" as const, keyId: key.id } }
        const byKey = yield* held(given, id, { content: message.content }, robot)
        assert.include(byKey.interaction.title, `The budget of the API key ${key.id} is used up`)
        assert.strictEqual(byKey.interaction.budget_of, key.id)
        const raised = yield* keys.update(principal, key.id, { budget: { max_tokens: 5000 } })
        assert.deepInclude(raised.budget, { spent_tokens: callTokens, remaining_tokens: 5000 - callTokens })
        assert.strictEqual((yield* byKey.ended).state, "succeeded")

        const cancelled = yield* held(given, id, message)
        yield* turns.cancel(principal, cancelled.id)
        assert.strictEqual((yield* cancelled.ended).state, "cancelled")
        const note = { content: "Only so.", routing: "note" as const, budget: { max_tokens: 1 } }
        const refused = yield* Effect.flip((yield* Messages).send(principal, id, note))
        assert.deepInclude(refused, { _tag: "RequestInvalid", loc: ["body", "budget"] })
      })
    ),
  120_000
)

it.scopedLive(
  "no model call goes out while its budget cannot be charged, and the next turn goes on once it can",
  () =>
    withAgent("alpha_gateway", ({ gateway, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const { run, sql } = yield* Database
        const { id } = yield* (yield* Sessions).create(principal, workspaceId, { budget: { max_tokens: 100_000 } })
        yield* run(sql`create trigger broken before insert on calls_in_flight begin select raise(abort, 'broken'); end`)
        const held = yield* runTurn(id, script("Try.", { say: "Done." }))
        assert.strictEqual(held.state, "failed", JSON.stringify(held))
        assert.include(held.reason_message, "The budgets of the turn cannot be read at the moment")
        assert.deepStrictEqual(gateway.requests, [])
        yield* run(sql`drop trigger broken`)
        const free = yield* runTurn(id, script("Once more.", { say: "Here." }))
        assert.strictEqual(free.state, "succeeded", JSON.stringify(free))
        assert.deepInclude((yield* (yield* Sessions).get(principal, id)).budget, { spent_tokens: callTokens })
      })
    ),
  60_000
)

it.scopedLive(
  "a call that waits for a budget is no silence of its model, and one that went out is",
  () =>
    withAgent(
      "alpha_gateway",
      (given) =>
        Effect.gen(function* () {
          const { principal, runTurn, workspaceId } = given
          const sessions = yield* Sessions
          const { id } = yield* sessions.create(principal, workspaceId, { budget: { max_tokens: 1 } })
          const { ended, turn } = yield* held(given, id, { content: script("Try.", tool, { say: "Done." }) })
          yield* Effect.sleep(2 * silenceMs)
          assert.strictEqual((yield* turn).state, "requires_action")
          yield* sessions.update(principal, id, { budget: null })
          const done = yield* ended
          assert.strictEqual(done.state, "succeeded", JSON.stringify(done))
          const silent = yield* runTurn(id, script("Once more.", { hang: true }))
          assert.deepInclude(silent, { state: "failed", reason: "timeout" })
        }),
      {},
      hastyAgents(silenceMs)
    ),
  60_000
)

/** A machine that is busy gives an answer of a model later. */
const silenceMs = 3000
