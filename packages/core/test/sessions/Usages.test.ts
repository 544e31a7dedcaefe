import { assert, describe, layer as suiteOver } from "@effect/vitest"
import { TurnId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Messages } from "@reins/core/sessions/Messages"
import { noUsage, type Usage } from "@reins/core/sessions/rows/Session"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Usages } from "@reins/core/sessions/usage/Usages"
import { Journal } from "@reins/core/store/Journal"
import { system } from "@reins/testing/changes/Fixture"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { stranger } from "../identity/Principals.js"

const unknown = {
  input_tokens: null,
  output_tokens: null,
  cached_tokens: null,
  reasoning_tokens: null,
  cost_usd: null
}

const used = (input_tokens: number, cost_usd: number | null): Usage => ({ ...noUsage, input_tokens, cost_usd })

for (const { layer, name } of flowDatabases) {
  describe(`usage on ${name}`, () => {
    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.effect("is summed over the turns that ended, says how many reported it, and is null where none did", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          const messages = yield* Messages
          const turns = yield* Turns
          const store = yield* TurnStore
          const usages = yield* Usages
          const journal = yield* Journal
          const { id } = yield* sessions.create(principal, workspaceId, {})
          const ofSession = Effect.map(usages.session(principal, id), ({ total }) => total)
          const ofWorkspace = Effect.map(usages.workspace(principal, workspaceId, {}), ({ total }) => total)
          const start = Effect.gen(function* () {
            const { turn_id } = yield* messages.send(principal, id, { content: "Work" })
            const turn = TurnId.make(turn_id ?? assert.fail("no turn"))
            yield* journal.commit(store.move(turn, "preparing", system))
            yield* journal.commit(store.move(turn, "running", system))
            return turn
          })
          const turnThat = (usage: Usage) =>
            Effect.flatMap(start, (turn) => journal.commit(store.move(turn, "succeeded", system, { usage })))

          const none = {
            turns: 0,
            reported_turns: 0,
            priced_turns: 0,
            list_priced_turns: 0,
            list_cost_usd: null,
            ...unknown
          }
          assert.deepStrictEqual([yield* ofSession, yield* ofWorkspace], [none, none])
          const { turn_id: unbegun } = yield* messages.send(principal, id, { content: "Never mind" })
          yield* turns.cancel(principal, unbegun ?? "")
          assert.deepStrictEqual([yield* ofSession, yield* ofWorkspace], [none, none])
          yield* turnThat(noUsage)
          const silent = { ...none, turns: 1 }
          assert.deepStrictEqual([yield* ofSession, yield* ofWorkspace], [silent, silent])
          yield* turnThat(used(3_000_000_000, null))
          const unpriced = yield* ofSession
          assert.deepInclude(unpriced, {
            turns: 2,
            reported_turns: 1,
            priced_turns: 0,
            cost_usd: null,
            output_tokens: null
          })
          yield* turnThat(used(2, 0.25))
          yield* sessions.update(principal, id, { model: "other" })
          yield* turnThat(used(1, 0.5))
          yield* start
          const both = [yield* usages.session(principal, id), yield* usages.workspace(principal, workspaceId, {})]
          for (const { by_model, total } of both) {
            assert.deepInclude(total, { turns: 4, reported_turns: 3, priced_turns: 2, cost_usd: 0.75 })
            assert.strictEqual(total.input_tokens, 3_000_000_003)
            assert.deepStrictEqual(
              by_model.map(({ input_tokens, model, provider_id, turns }) => [provider_id, model, turns, input_tokens]),
              [
                ["alpha", "scripted-1", 3, 3_000_000_002],
                ["alpha", "other", 1, 1]
              ]
            )
          }
        })
      )

      it.effect(
        "has list prices beside its cost where nothing else says it, by every grouping, also for the past",
        () =>
          Effect.gen(function* () {
            const { principal, workspaceId } = yield* ownerWithConnection
            const sessions = yield* Sessions
            const messages = yield* Messages
            const store = yield* TurnStore
            const usages = yield* Usages
            const journal = yield* Journal
            const { id } = yield* sessions.create(principal, workspaceId, {
              harness: { provider_id: "alpha", model: "gpt-5.4" }
            })
            const turnThat = (usage: Partial<Usage>) =>
              Effect.gen(function* () {
                const { turn_id } = yield* messages.send(principal, id, { content: "Work" })
                const turn = TurnId.make(turn_id ?? assert.fail("no turn"))
                for (const state of ["preparing", "running"] as const)
                  yield* journal.commit(store.move(turn, state, system))
                yield* journal.commit(store.move(turn, "succeeded", system, { usage: { ...noUsage, ...usage } }))
              })
            yield* turnThat({ input_tokens: 1_000_000, cached_tokens: 400_000, output_tokens: 100_000 })
            yield* turnThat({})
            const ofSession = yield* usages.session(principal, id)
            // 600,000 at $2.50, 400,000 at $0.25 and 100,000 at $15.
            const listed = { list_priced_turns: 1, list_cost_usd: 3.1, priced_turns: 0, cost_usd: null }
            assert.deepInclude(ofSession.total, { ...listed, turns: 2 })
            const [ofModel] = ofSession.by_model
            assert.deepInclude(ofModel?.list_price, { input: 2.5, date: "2026-06-04" })
            yield* sessions.update(principal, id, { model: "nobody-knows" })
            yield* turnThat({ input_tokens: 1_000_000, output_tokens: 1 })
            yield* sessions.update(principal, id, { model: "openai/gpt-5.4-mini-2026-03-17" })
            yield* turnThat({ input_tokens: 1_000_000, output_tokens: 0, cost_usd: 0.2 })
            const workspace = yield* usages.workspace(principal, workspaceId, {})
            assert.deepInclude(workspace.total, { list_cost_usd: 3.1, list_priced_turns: 1 })
            const pricesOf = Object.fromEntries(
              workspace.by_model.map((each) => [each.model, each.list_price?.input ?? null])
            )
            assert.deepInclude(pricesOf, {
              "gpt-5.4": 2.5,
              "nobody-knows": null,
              "openai/gpt-5.4-mini-2026-03-17": 0.75
            })
            for (const group_by of ["day", "session", "model", "api_key", "day_model"] as const) {
              const { groups } = yield* usages.workspace(principal, workspaceId, { group_by })
              const costs = groups.flatMap(({ list_cost_usd }) => list_cost_usd ?? [])
              assert.deepStrictEqual(costs, [3.1], group_by)
            }
            const today = new Date().toISOString().slice(0, 10)
            const { groups } = yield* usages.workspace(principal, workspaceId, { group_by: "day_model" })
            const named = groups.filter(({ model }) => /gpt|nobody/.test(model ?? ""))
            assert.sameDeepMembers(
              named.map(({ day, model, provider_id, turns }) => [day, provider_id, model, turns]),
              [
                [today, "alpha", "openai/gpt-5.4-mini-2026-03-17", 1],
                [today, "alpha", "nobody-knows", 1],
                [today, "alpha", "gpt-5.4", 2]
              ]
            )
          })
      )

      it.effect("of a session with its delegations has that of the children and of theirs", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const delegations = yield* Delegations
          const turns = yield* Turns
          const store = yield* TurnStore
          const journal = yield* Journal
          const work = (id: string, input: number) =>
            Effect.gen(function* () {
              const { items } = yield* turns.list(principal, id, { limit: 1 })
              const turn = items[0]?.id ?? assert.fail("no turn")
              for (const state of ["preparing", "running"] as const)
                yield* journal.commit(store.move(turn, state, system))
              yield* journal.commit(store.move(turn, "failed", system, { usage: used(input, 0.1) }))
            })
          const delegate = (id: string) =>
            Effect.map(
              delegations.spawn(principal, id, { role: "reader", instructions: "Read." }),
              ({ delegation }) => delegation.child_session_id
            )
          const { id } = yield* (yield* Sessions).create(principal, workspaceId, { message: "Work" })
          const child = yield* delegate(id)
          const grandchild = yield* delegate(child)
          yield* work(id, 1)
          yield* work(child, 20)
          yield* work(grandchild, 300)
          const usages = yield* Usages
          const of = (session: string) =>
            Effect.map(usages.session(principal, session), ({ total, with_delegations: tree }) => [
              [total.turns, total.input_tokens, total.cost_usd],
              [tree.turns, tree.input_tokens, tree.cost_usd]
            ])
          assert.deepStrictEqual(yield* of(id), [
            [1, 1, 0.1],
            [3, 321, 0.3]
          ])
          assert.deepStrictEqual(yield* of(child), [
            [1, 20, 0.1],
            [2, 320, 0.2]
          ])
        })
      )

      it.effect("of a workspace is that of the days that are asked for, and nobody else's", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const usages = yield* Usages
          const today = new Date().toISOString().slice(0, 10)
          const of = (days: { readonly from?: string; readonly to?: string }) =>
            usages.workspace(principal, workspaceId, days)
          const all = yield* of({})
          assert.isAbove(all.total.turns, 0)
          assert.deepStrictEqual((yield* of({ from: today.slice(0, 4).concat("-01-01") })).total, all.total)
          const before = yield* of({ to: "2020-12-31" })
          assert.deepInclude(before, { from: null, to: "2020-12-31", by_model: [] })
          assert.deepInclude(before.total, { turns: 0, ...unknown })
          const foreign = yield* Effect.flip(usages.workspace(yield* stranger, workspaceId, {}))
          assert.isTrue(foreign instanceof ReinsError && foreign.code === "not_found")
        })
      )
    })
  })
}
