import type { Effect } from "effect"
import type { Database } from "../../store/Database.js"
import { nowMs } from "../NodeClock.js"

/** The requests of a caller that a node tells the others of. */
export interface RequestCharge {
  readonly subject: string
  /** Those that it has let through. They count, whatever is left. */
  readonly used: number
  /** Those that wait to be let through. */
  readonly wanted: number
}

/** The state of a caller after a charge. */
export interface Charged {
  readonly subject: string
  /** The wanted requests that may go through, and have been counted. */
  readonly granted: number
  /** The milliseconds until the caller has all of the requests of a minute again. More than a minute when too many were let through. */
  readonly fullInMs: number
}

/** The requests of a minute that each caller has left at all nodes together, by the clock of the database alone. */
export const make = ({ all, run, sql }: Database["Type"], perMinute: number) => {
  const now = nowMs(sql)
  const requestMs = 60_000 / perMinute
  /** Sums of broken milliseconds may lack a trace of a request. */
  const trace = 0.001

  return {
    /** Counts the requests of callers, each of whom is named once. The statement is a commit of its own. */
    charge: (charges: ReadonlyArray<RequestCharge>): Effect.Effect<ReadonlyArray<Charged>> => {
      const from = sql`greatest(credit.full_at, ${now})`
      const granted = sql`greatest(0, least(excluded.wanted,
        floor(${perMinute}::float8 - (${from} - ${now}) / ${requestMs}::float8 - excluded.used + ${trace}::float8)))`
      return all(sql<Charged>`insert into request_credit as credit (subject, full_at, used, wanted, granted)
        select subject, ${now} + (used + least(wanted, greatest(0, ${perMinute}::float8 - used))) * ${requestMs}::float8,
          used, wanted, least(wanted, greatest(0, ${perMinute}::float8 - used))
        from json_to_recordset(cast(${JSON.stringify(charges)} as json))
          as charges (subject text, used float8, wanted float8)
        -- Nodes that tell of the same callers lock their rows in one order.
        order by subject
        on conflict (subject) do update set full_at = ${from} + (excluded.used + ${granted}) * ${requestMs}::float8,
          used = excluded.used, wanted = excluded.wanted, granted = ${granted}
        returning subject, granted, full_at - ${now} as "fullInMs"`)
    },
    /** Forgets the callers that have all of their requests. */
    purge: run(sql`delete from request_credit where full_at < ${now}`)
  }
}

/** The statements of the limit. */
export type RequestCredit = ReturnType<typeof make>
