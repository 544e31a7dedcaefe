import { assert, describe, layer as suiteOver } from "@effect/vitest"
import { TurnId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Delegations } from "@reins/core/delegations/Delegations"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Messages } from "@reins/core/sessions/Messages"
import { noUsage } from "@reins/core/sessions/rows/Session"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Usages } from "@reins/core/sessions/usage/Usages"
import { Journal } from "@reins/core/store/Journal"
import { system } from "@reins/testing/changes/Fixture"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Clock, Effect } from "effect"

/** A clock that stands at noon of a day. */
const noonOf = (day: string): Clock.Clock => {
  const millis = Date.parse(`${day}T12:00:00.000Z`)
  return { ...Clock.make(), unsafeCurrentTimeMillis: () => millis, currentTimeMillis: Effect.succeed(millis) }
}

/** A turn that ended on a day with so many tokens of input. */
const worked = Effect.fnUntraced(function* (turnId: string, day: string, input_tokens: number | null) {
  const journal = yield* Journal
  const store = yield* TurnStore
  const turn = TurnId.make(turnId)
  yield* Effect.gen(function* () {
    yield* journal.commit(store.move(turn, "preparing", system))
    yield* journal.commit(store.move(turn, "running", system))
    const usage = { ...noUsage, input_tokens, cost_usd: input_tokens === null ? null : input_tokens / 10 }
    yield* journal.commit(store.move(turn, "succeeded", system, { usage }))
  }).pipe(Effect.withClock(noonOf(day)))
})

for (const { layer, name } of flowDatabases)
  describe(`groups of usage on ${name}`, () => {
    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.effect("are days, sessions, models and API keys, a page at a time, and each sums up to the total", () =>
        Effect.gen(function* () {
          const { principal: owner, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          const messages = yield* Messages
          const key = yield* (yield* ApiKeys).create(owner, { name: "robot" })
          const robot: Principal = { ...owner, via: { kind: "api_key", keyId: key.id } }
          const one = yield* sessions.create(owner, workspaceId, {})
          const two = yield* sessions.create(robot, workspaceId, { harness: { provider_id: "alpha", model: "other" } })
          const say = Effect.fnUntraced(function* (
            principal: Principal,
            id: string,
            day: string,
            tokens: number | null
          ) {
            const { turn_id = "" } = yield* messages.send(principal, id, { content: "Work" })
            yield* worked(turn_id, day, tokens)
          })
          yield* say(owner, one.id, "2026-01-30", 1)
          yield* say(robot, one.id, "2026-01-31", 20)
          yield* say(robot, two.id, "2026-01-31", 300)
          yield* say(owner, two.id, "2026-02-01", 4000)
          // A delegation of a person for a session of the key counts for the key.
          const { delegation } = yield* (yield* Delegations).spawn(owner, two.id, {
            role: "reader",
            instructions: "Read."
          })
          const child = delegation.child_session_id
          const [turn] = (yield* (yield* Turns).list(owner, child, {})).items
          yield* worked(turn?.id ?? assert.fail("no turn"), "2026-02-02", 50_000)
          yield* say(owner, one.id, "2026-02-02", null)

          const usages = yield* Usages
          type Query = Parameters<Usages["Type"]["workspace"]>[2]
          const all = Effect.fnUntraced(function* (query: Query) {
            const found: Array<Effect.Effect.Success<ReturnType<Usages["Type"]["workspace"]>>["groups"][number]> = []
            let cursor: string | undefined
            do {
              const page = yield* usages.workspace(owner, workspaceId, {
                ...query,
                limit: 1,
                ...(cursor && { cursor })
              })
              assert.isAtMost(page.groups.length, 1)
              found.push(...page.groups)
              cursor = page.next_cursor ?? undefined
            } while (cursor !== undefined)
            const { groups, next_cursor, total } = yield* usages.workspace(owner, workspaceId, query)
            assert.deepStrictEqual([found, null], [groups, next_cursor])
            assert.strictEqual(
              groups.reduce((sum, { turns }) => sum + turns, 0),
              total.turns
            )
            assert.strictEqual(
              groups.reduce((sum, { input_tokens }) => sum + (input_tokens ?? 0), 0),
              total.input_tokens
            )
            return groups
          })
          const days = yield* all({ group_by: "day" })
          assert.deepStrictEqual(
            days.map(({ cost_usd, day, input_tokens, reported_turns, turns }) => [
              day,
              turns,
              reported_turns,
              input_tokens,
              cost_usd
            ]),
            [
              ["2026-02-02", 2, 1, 50_000, 5000],
              ["2026-02-01", 1, 1, 4000, 400],
              ["2026-01-31", 2, 2, 320, 32],
              ["2026-01-30", 1, 1, 1, 0.1]
            ]
          )
          const bySession = yield* all({ group_by: "session" })
          assert.deepStrictEqual(
            bySession.map(({ input_tokens, reported_turns, session_id, turns }) => [
              session_id,
              turns,
              reported_turns,
              input_tokens
            ]),
            [
              [child, 1, 1, 50_000],
              [two.id, 2, 2, 4300],
              [one.id, 3, 2, 21]
            ]
          )
          assert.deepInclude(bySession[2], { output_tokens: null, cost_usd: 2.1 })
          assert.deepStrictEqual(
            (yield* all({ group_by: "model" })).map(({ input_tokens, model, provider_id }) => [
              provider_id,
              model,
              input_tokens
            ]),
            [
              ["alpha", "other", 54_300],
              ["alpha", "scripted-1", 21]
            ]
          )
          assert.deepStrictEqual(
            (yield* all({ group_by: "api_key" })).map(({ api_key_id, input_tokens }) => [api_key_id, input_tokens]),
            [
              [key.id, 50_320],
              [null, 4001]
            ]
          )
          const january = { from: "2026-01-31", to: "2026-01-31" }
          for (const group_by of ["day", "session", "model", "api_key"] as const)
            assert.strictEqual(
              (yield* all({ ...january, group_by })).reduce((sum, { turns }) => sum + turns, 0),
              2
            )
          const none = yield* usages.workspace(owner, workspaceId, {})
          assert.deepInclude(none, { group_by: null, groups: [], next_cursor: null })
          const wrong = yield* Effect.flip(
            usages.workspace(owner, workspaceId, { group_by: "day", cursor: "nonsense" })
          )
          assert.isTrue(wrong instanceof ReinsError && wrong.code === "invalid_cursor")
        })
      )
    })
  })
