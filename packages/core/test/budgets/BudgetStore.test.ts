import { assert, describe, it } from "@effect/vitest"
import { type ModelCallId, newId, TurnId } from "@reins/base/domain/Ids"
import { BudgetStore } from "@reins/core/budgets/BudgetStore"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { databases } from "@reins/testing/store/Databases"
import { walks } from "@reins/testing/Volume"
import { Context, Effect, Layer, Runtime } from "effect"
import * as fc from "fast-check"

/** The turns of a tree: a parent and two children, all of one key and one workspace, and a turn of somebody else there. */
const turnsOf = (ids: ReadonlyArray<TurnId>, walk: number) => {
  const [workspace, key, parent] = [`wsp_${walk}`, `key_${walk}`, `sess_${walk}_parent`]
  const above = [
    [parent, workspace, key],
    [`sess_${walk}_one`, parent, workspace, key],
    [`sess_${walk}_two`, parent, workspace, key],
    [`sess_${walk}_other`, workspace]
  ]
  return ids.map((id, index) => ({ id, subjects: [id, ...(above[index] ?? [])] }))
}

const estimate = 7

/** One step: `who` is a turn, or one of the calls that are out, and `tokens` what a call has used; undefined for one whose usage nobody said. */
const step = fc.record({
  act: fc.constantFrom("admit", "admit", "settle", "settle", "withdraw", "lose", "raise"),
  who: fc.nat(7),
  store: fc.nat(1),
  tokens: fc.option(fc.integer({ min: 0, max: 40 }), { nil: undefined, freq: 6 })
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Steps of one group are under way at the same time. */
const walk = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 14 })

interface Out {
  readonly id: ModelCallId
  readonly turn: number
}

/** A budget as its callers know it: the charges that are committed, and all that are at least begun. */
interface Seen {
  limit: number
  committed: number
  begun: number
  /** The calls whose usage nobody said. */
  estimated: number
}

const limited = 60

for (const { layer, name } of databases)
  describe(`budgets on ${name}`, () => {
    // Two services on one database stand for two processes.
    const two = Effect.all(
      [1, 2].map(() =>
        Effect.map(Layer.build(Layer.fresh(BudgetStore.layer)), (built) => Context.get(built, BudgetStore))
      )
    )

    it.scopedLive(
      "no order of admissions and settlements exceeds a limit by more than the calls in flight, and each call counts once",
      () =>
        Effect.gen(function* () {
          const stores = yield* two
          const journal = yield* Journal
          const runtime = yield* Effect.runtime<Database>()
          let walked = 0

          const tried = (groups: ReadonlyArray<ReadonlyArray<Step>>) =>
            Effect.gen(function* () {
              const ids = yield* Effect.all([1, 2, 3, 4].map(() => newId(TurnId)))
              const turns = turnsOf(ids, ++walked)
              const seen = new Map<string, Seen>()
              // The turn, the tree, the key and the workspace have a limit each; the children have none of their own.
              for (const [subject, factor] of [
                [ids[1] ?? "", 1],
                [turns[0]?.subjects[1] ?? "", 2],
                [turns[0]?.subjects[3] ?? "", 2.5],
                [turns[0]?.subjects[2] ?? "", 3]
              ] as const) {
                const limit = limited * factor
                yield* journal.commit((stores[0] ?? assert.fail("none")).set(subject, { max_tokens: limit }))
                seen.set(subject, { limit, committed: 0, begun: 0, estimated: 0 })
              }
              const out: Array<Out> = []
              const budgetsOf = (turn: number) =>
                (turns[turn]?.subjects ?? []).flatMap((subject) => seen.get(subject) ?? [])

              const charge = (turn: number, tokens: number | undefined, commit: Effect.Effect<void>) =>
                Effect.gen(function* () {
                  const charged = tokens ?? estimate
                  for (const budget of budgetsOf(turn)) budget.begun += charged
                  yield* commit
                  for (const budget of budgetsOf(turn)) {
                    budget.committed += charged
                    if (tokens === undefined) budget.estimated += 1
                  }
                })

              const act = ({ act, store: which, tokens, who }: Step) =>
                Effect.gen(function* () {
                  const store = stores[which] ?? assert.fail("none")
                  if (act === "admit") {
                    const index = who % turns.length
                    const turn = turns[index] ?? assert.fail("none")
                    const isReached = budgetsOf(index).some(({ committed, limit }) => committed >= limit)
                    const answer = yield* store.admit({
                      turnId: turn.id,
                      subjects: turn.subjects,
                      estimate: { tokens: estimate, nanoUsd: null }
                    })
                    if (answer._tag === "admitted") {
                      assert.isFalse(isReached, "a call was let out although a limit had been reached")
                      out.push({ id: answer.id ?? assert.fail("it counts for no budget"), turn: index })
                    } else {
                      const mayBeReached = budgetsOf(index).some(({ begun, limit }) => begun >= limit)
                      assert.isTrue(mayBeReached, "a call was held although no limit was reached")
                    }
                  } else if (act === "raise") {
                    const [subject, budget] = [...seen][who % seen.size] ?? assert.fail("none")
                    // The limit counts as raised from before, so that nothing that is let out meanwhile is called a fault.
                    budget.limit += tokens ?? 1
                    yield* journal.commit(store.set(subject, { max_tokens: budget.limit }))
                  } else if (act === "lose") {
                    const index = who % turns.length
                    const lost = out.filter(({ turn }) => turn === index)
                    for (const call of lost) out.splice(out.indexOf(call), 1)
                    const commit = journal.commit(store.lose(turns[index]?.id ?? assert.fail("none")))
                    yield* Effect.zipRight(
                      Effect.forEach(lost.slice(1), ({ turn }) => charge(turn, undefined, Effect.void)),
                      lost.length === 0 ? Effect.void : charge(index, undefined, commit)
                    )
                  } else {
                    const call = out.splice(who % Math.max(1, out.length), 1)[0]
                    if (call === undefined) return
                    if (act === "withdraw") return yield* store.withdraw(call.id)
                    const settle = store.settle({
                      admission: call.id,
                      subjects: turns[call.turn]?.subjects ?? [],
                      charge: tokens === undefined ? undefined : { tokens, nanoUsd: null }
                    })
                    yield* charge(call.turn, tokens, settle)
                    // A call that is settled again, as by a worker that was thought to be lost, is not charged again.
                    yield* settle
                  }
                })

              for (const group of groups) {
                // The ends of turns and new limits come alone, because the model could not say on which side of them the others are.
                const [alone, together] = [
                  group.filter(({ act }) => act === "lose" || act === "raise"),
                  group.filter(({ act }) => act !== "lose" && act !== "raise")
                ]
                yield* Effect.forEach(together, act, { concurrency: "unbounded", discard: true })
                yield* Effect.forEach(alone, act, { discard: true })
              }
              for (const [subject, { committed, estimated, limit }] of seen) {
                const budget = (yield* (stores[1] ?? assert.fail("none")).find(subject)) ?? assert.fail("no budget")
                assert.deepInclude(budget, {
                  max_tokens: limit,
                  spent_tokens: committed,
                  estimated_calls: estimated,
                  remaining_tokens: Math.max(0, limit - committed),
                  exhausted: committed >= limit
                })
              }
              const { all, sql } = yield* Database
              const rows = yield* all(sql`select id from calls_in_flight where ${sql.in("turn_id", ids)}`)
              assert.sameMembers(
                rows.map((row) => Object.values(row)[0]),
                out.map(({ id }) => id)
              )
            })

          yield* Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(walk, (groups) => Runtime.runPromise(runtime)(Effect.orDie(tried(groups)))),
              { numRuns: walks.budgets[name], interruptAfterTimeLimit: 120_000, markInterruptAsFailure: true }
            )
          )
        }).pipe(Effect.provide(Layer.provideMerge(Journal.layer, layer))),
      180_000
    )

    it.scopedLive("a limit in dollars lets nothing out that has no price, and unpriced tokens stay unknown", () =>
      Effect.gen(function* () {
        const [store = assert.fail("none")] = yield* two
        const journal = yield* Journal
        const turnId = yield* newId(TurnId)
        const wanted = (nanoUsd: number | null) => ({ turnId, subjects: [turnId], estimate: { tokens: 5, nanoUsd } })
        assert.deepStrictEqual(yield* store.admit(wanted(null)), { _tag: "admitted", id: undefined })

        yield* journal.commit(store.set(turnId, { max_tokens: 100 }))
        const free = yield* store.admit(wanted(null))
        const admission = free._tag === "admitted" && free.id !== undefined ? free.id : assert.fail("it was held")
        yield* store.settle({ admission, subjects: [turnId], charge: { tokens: 20, nanoUsd: null } })
        assert.deepInclude(yield* store.find(turnId), {
          spent_tokens: 20,
          spent_cost_usd: null,
          remaining_cost_usd: null
        })

        yield* journal.commit(store.set(turnId, { max_cost_usd: 0.000002 }))
        assert.deepInclude(yield* store.admit(wanted(null)), { _tag: "unpriced", subjectId: turnId })
        const priced = yield* store.admit(wanted(900))
        const paid = priced._tag === "admitted" && priced.id !== undefined ? priced.id : assert.fail("it was held")
        yield* store.settle({ admission: paid, subjects: [turnId], charge: { tokens: 3, nanoUsd: 2000 } })
        const spent = (yield* store.find(turnId)) ?? assert.fail("no budget")
        assert.deepInclude(spent, {
          spent_cost_usd: 0.000002,
          remaining_cost_usd: 0,
          max_tokens: null,
          exhausted: true
        })
        assert.deepInclude(yield* store.admit(wanted(1)), { _tag: "exhausted", budget: spent })

        yield* journal.commit(store.set(turnId, null))
        assert.isNull(yield* store.find(turnId))
        yield* journal.commit(store.set(turnId, { max_tokens: 1 }))
        assert.deepInclude(yield* store.find(turnId), { spent_tokens: 0, spent_cost_usd: null, exhausted: false })
      }).pipe(Effect.provide(Layer.provideMerge(Journal.layer, layer)))
    )
  })
