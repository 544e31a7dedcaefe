import { fn } from "@reins/base/base/Traced"
import type { Actor } from "@reins/base/domain/Event"
import type { SessionId, TurnId } from "@reins/base/domain/Ids"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { Journal } from "../../store/Journal.js"
import type { ResultSchema, TurnResult } from "../rows/TurnResult.js"

/** The result that a turn is to give, and the tries of its agent. */
export interface WantedResult {
  readonly turn_id: TurnId
  /** The schema that the result has to satisfy; null for any value. */
  readonly schema: ResultSchema | null
  /** True where the turn fails without a result. */
  readonly isRequired: boolean
  /** The result that was accepted; null until one is. */
  readonly result: Pick<TurnResult, "value" | "summary"> | null
  readonly tries: number
  /** The places of the newest refused result that do not fit. */
  readonly errors: ReadonlyArray<string>
}

type TurnOfSession = { readonly id: TurnId; readonly session_id: SessionId }

/** The results of turns, as rows. A turn that nobody asked for one and that gave none has no row. */
export class TurnResults extends Context.Tag("@reins/core/sessions/results/TurnResults")<
  TurnResults,
  {
    readonly find: (turnId: string) => Effect.Effect<WantedResult | undefined>
    /** The results of those of the turns that have an accepted one. */
    readonly findAll: (turnIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, TurnResult>>
    /** The newest accepted result of a session. */
    readonly newestOf: (sessionId: SessionId) => Effect.Effect<WantedResult | undefined>
    /** Asks a turn that has not begun for a result. */
    readonly ask: (
      turn: TurnOfSession,
      wish: Pick<WantedResult, "schema" | "isRequired">
    ) => Effect.Effect<void, never, Commit>
    /** Counts a result of the agent, and tells what was found: its errors, or that it is accepted. */
    readonly check: (
      turn: TurnOfSession,
      actor: Actor,
      checked: { readonly errors: ReadonlyArray<string>; readonly result: WantedResult["result"] }
    ) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    TurnResults,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const { sql } = db

      const find = fn("TurnResults.find")(function* (turnId: string) {
        const row = yield* db.first(sql<ResultRow>`select * from turn_results where turn_id = ${turnId}`)
        return row && toWanted(row)
      })
      const ask = (turn: TurnOfSession, { isRequired, schema }: Pick<WantedResult, "schema" | "isRequired">) => {
        const row: ResultRow = {
          turn_id: turn.id,
          session_id: turn.session_id,
          schema: schema === null ? null : JSON.stringify(schema),
          required: isRequired ? 1 : 0,
          result: null,
          tries: 0,
          errors: null
        }
        return db.run(sql`insert into turn_results ${sql.insert({ ...row })} on conflict do nothing`)
      }

      return TurnResults.of({
        find,
        ask,
        findAll: fn("TurnResults.findAll")(function* (turnIds) {
          if (turnIds.length === 0) return new Map()
          const rows = yield* db.all(sql<ResultRow>`select * from turn_results
            where result is not null and ${sql.in("turn_id", turnIds)}`)
          return new Map(rows.flatMap((row) => shownResult(toWanted(row))))
        }),
        newestOf: fn("TurnResults.newestOf")(function* (sessionId) {
          const row = yield* db.first(sql<ResultRow>`select * from turn_results
            where session_id = ${sessionId} and result is not null order by turn_id desc limit 1`)
          return row && toWanted(row)
        }),
        check: fn("TurnResults.check")(function* (turn, actor, { errors, result }) {
          yield* ask(turn, { schema: null, isRequired: false })
          yield* db.run(sql`update turn_results set tries = tries + 1, errors = ${JSON.stringify(errors)},
            result = ${result === null ? null : JSON.stringify(result)} where turn_id = ${turn.id}`)
          yield* journal.append(turn.session_id, actor, [
            {
              type: "turn.result_checked",
              payload: { turn_id: turn.id, ok: result !== null, errors },
              subjects: { turn_id: turn.id }
            }
          ])
        })
      })
    })
  )
}

interface ResultRow {
  readonly turn_id: TurnId
  readonly session_id: SessionId
  readonly schema: string | null
  readonly required: number
  readonly result: string | null
  readonly tries: number
  readonly errors: string | null
}

const toWanted = ({ errors, required, result, schema, tries, turn_id }: ResultRow): WantedResult => ({
  turn_id,
  schema: schema === null ? null : JSON.parse(schema),
  isRequired: required === 1,
  result: result === null ? null : JSON.parse(result),
  tries,
  errors: errors === null ? [] : JSON.parse(errors)
})

const shownResult = ({ result, tries, turn_id }: WantedResult): ReadonlyArray<readonly [string, TurnResult]> =>
  result === null ? [] : [[turn_id, { ...result, tries }]]
