import { fn } from "@reins/base/base/Traced"
import { ModelCallId, newId, type TurnId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Deferred, Effect, FiberId, Layer } from "effect"
import { budgetTopic } from "../store/Bell.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import type { Budget, BudgetInput } from "./Budget.js"
import { type BudgetRow, nano, toBudget } from "./BudgetRow.js"

/** The tokens and the cost of a model call: those that it has spent, or an estimate of them. */
export interface Charge {
  readonly tokens: number
  /** Billionths of a US dollar; null without a price. */
  readonly nanoUsd: number | null
}

/** A model call that wants to go out. */
export interface WantedCall {
  readonly turnId: TurnId
  /** The ids of all whose budgets it counts for. */
  readonly subjects: ReadonlyArray<string>
  /** Counts for the call when its usage is never known. */
  readonly estimate: Charge
}

/** A model call that was let out and has ended. */
export interface EndedCall {
  /** The id that `admit` gave. */
  readonly admission: ModelCallId
  /** The ids of all whose budgets it counts for. */
  readonly subjects: ReadonlyArray<string>
  /** Undefined when the gateway did not say what the call has used. */
  readonly charge: Charge | undefined
}

/**
 * The answer to a call that wants to go out: it may, under an id where a budget counts it, or one of the budgets is used up, or is one in
 * US dollars while nothing says what the call costs.
 */
export type Admission =
  | { readonly _tag: "admitted"; readonly id: ModelCallId | undefined }
  | { readonly _tag: "exhausted" | "unpriced"; readonly subjectId: string; readonly budget: Budget }

/**
 * The budgets of turns, sessions, API keys and workspaces, each by the id of what has it. A call is let out while no budget that it counts
 * for is used up, and is charged when it has ended. So a limit is exceeded by at most the calls that are in flight when it is reached. Both
 * are rows, and a call whose process is killed is charged by an estimate at the end of its turn.
 */
export class BudgetStore extends Context.Tag("@reins/core/budgets/BudgetStore")<
  BudgetStore,
  {
    /** Null when the subject has none. */
    readonly find: (subjectId: string) => Effect.Effect<Budget | null>
    /** The budgets of those subjects that have one, by their ids. */
    readonly findAll: (subjectIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, Budget>>
    /** Sets the limits, or takes the budget away with null. What a budget has spent stays spent. Calls that wait look again. */
    readonly set: (subjectId: string, limits: BudgetInput | null) => Effect.Effect<void, never, Commit>
    /** Lets a call out, or says which budget is used up. An admission is committed when it comes. */
    readonly admit: (call: WantedCall) => Effect.Effect<Admission>
    /** Takes a call back that was let out and never left. */
    readonly withdraw: (admission: ModelCallId) => Effect.Effect<void>
    /** Charges a call that has ended, once. Calls of this process that want to go out wait until that is committed. */
    readonly settle: (call: EndedCall) => Effect.Effect<void>
    /** Charges the calls of a turn whose end nobody has seen, by their estimates. */
    readonly lose: (turnId: TurnId) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    BudgetStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const { findAll, findOne } = makeReads(db)
      const charge = makeCharges(db)
      const { sql } = db

      /** The settlements that are under way, each with its end. */
      const underWay = new Set<Deferred.Deferred<void>>()

      const settled = Effect.fnUntraced(function* (call: EndedCall): Effect.fn.Return<void, never, Commit> {
        const estimate = yield* taken(db, call.admission)
        // A call without a row was charged before.
        if (estimate !== undefined) yield* charge(call.subjects, call.charge ?? estimate, call.charge === undefined)
      })

      const settle = (call: EndedCall) =>
        Effect.suspend(() => {
          const ended = Deferred.unsafeMake<void>(FiberId.none)
          underWay.add(ended)
          return Effect.ensuring(
            journal.commit(settled(call)),
            Effect.suspend(() => {
              underWay.delete(ended)
              return Deferred.succeed(ended, undefined)
            })
          )
        })

      return BudgetStore.of({
        find: (subjectId) =>
          Effect.map(db.first(findOne(subjectId)), (row) => (row === undefined ? null : toBudget(row))),
        findAll,
        settle,
        set: fn("BudgetStore.set")(function* (subjectId, limits) {
          if (limits === null) yield* db.run(sql`delete from budgets where subject_id = ${subjectId}`)
          else {
            const row = {
              subject_id: subjectId,
              max_tokens: limits.max_tokens ?? null,
              max_nano_usd: limits.max_cost_usd === undefined ? null : Math.round(limits.max_cost_usd * nano),
              spent_tokens: 0,
              estimated_calls: 0,
              created_at: yield* now
            }
            yield* db.run(sql`insert into budgets ${sql.insert(row)} on conflict (subject_id)
              do update set max_tokens = excluded.max_tokens, max_nano_usd = excluded.max_nano_usd`)
          }
          yield* journal.ringAfterCommit(budgetTopic(subjectId))
        }),
        admit: fn("BudgetStore.admit")(function* ({ estimate, subjects, turnId }) {
          yield* Effect.forEach([...underWay], Deferred.await, { discard: true })
          const budgets = yield* findAll(subjects)
          if (budgets.size === 0) return { _tag: "admitted", id: undefined } as const
          for (const [subjectId, budget] of budgets) {
            if (budget.exhausted) return { _tag: "exhausted", subjectId, budget } as const
            if (budget.max_cost_usd !== null && estimate.nanoUsd === null)
              return { _tag: "unpriced", subjectId, budget } as const
          }
          const id = yield* newId(ModelCallId)
          const row = {
            id,
            turn_id: turnId,
            subjects: JSON.stringify(subjects),
            tokens: estimate.tokens,
            nano_usd: estimate.nanoUsd,
            created_at: yield* now
          }
          yield* journal.commit(db.run(sql`insert into calls_in_flight ${sql.insert(row)}`))
          return { _tag: "admitted", id } as const
        }),
        withdraw: (admission) => journal.commit(Effect.asVoid(taken(db, admission))),
        lose: fn("BudgetStore.lose")(function* (turnId) {
          const lost = yield* db.all(sql<{ id: ModelCallId; subjects: string }>`select id, subjects from calls_in_flight
            where turn_id = ${turnId} order by id${db.forUpdate}`)
          for (const { id, subjects } of lost)
            yield* settled({ admission: id, subjects: JSON.parse(subjects), charge: undefined })
        })
      })
    })
  )
}

const makeReads = (db: Database["Type"]) => {
  const { sql } = db
  const columns = sql.literal(
    ["max_tokens", "max_nano_usd", "spent_tokens", "spent_nano_usd"]
      .map((name) => `cast(${name} as double precision) as ${name}`)
      .concat("subject_id", "estimated_calls", "created_at")
      .join(", ")
  )
  const findOne = db.prepare((id: string) => sql<BudgetRow>`select ${columns} from budgets where subject_id = ${id}`)
  return {
    findOne,
    findAll: (subjectIds: ReadonlyArray<string>) =>
      subjectIds.length === 0
        ? Effect.succeed(new Map<string, Budget>())
        : Effect.map(
            db.all(sql<
              BudgetRow & { subject_id: string }
            >`select ${columns} from budgets where ${sql.in("subject_id", subjectIds)}
              order by subject_id`),
            (rows) => new Map(rows.map((row) => [row.subject_id, toBudget(row)]))
          )
  }
}

/** Adds to what the budgets of the subjects have spent. */
const makeCharges = ({ all, forUpdate, run, sql }: Database["Type"]) =>
  Effect.fnUntraced(function* (subjects: ReadonlyArray<string>, { nanoUsd, tokens }: Charge, isEstimated: boolean) {
    // Locked in one order, so that two commits never wait for each other.
    const charged = yield* all(sql<{ subject_id: string }>`select subject_id from budgets
      where ${sql.in("subject_id", subjects)} order by subject_id${forUpdate}`)
    if (charged.length === 0) return
    const cost = nanoUsd === null ? sql.literal("") : sql`, spent_nano_usd = coalesce(spent_nano_usd, 0) + ${nanoUsd}`
    yield* run(sql`update budgets set spent_tokens = spent_tokens + ${tokens},
      estimated_calls = estimated_calls + ${isEstimated ? 1 : 0}${cost}
      where ${sql.in(
        "subject_id",
        charged.map(({ subject_id }) => subject_id)
      )}`)
  })

/** Takes a call out of those in flight, with its estimate. Undefined when it is none of them. */
const taken = (
  { first, sql }: Database["Type"],
  admission: ModelCallId
): Effect.Effect<Charge | undefined, never, Commit> =>
  Effect.map(
    first(sql<{ tokens: number; nano_usd: number | null }>`delete from calls_in_flight where id = ${admission}
      returning cast(tokens as double precision) as tokens, cast(nano_usd as double precision) as nano_usd`),
    (row) => row && { tokens: row.tokens, nanoUsd: row.nano_usd }
  )
