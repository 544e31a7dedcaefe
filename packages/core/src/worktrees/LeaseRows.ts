import type { LeaseId, SessionId } from "@reins/base/domain/Ids"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { type LeaseState, leaseStates } from "../sessions/rows/Session.js"
import type { Lease } from "../sessions/rows/SessionRow.js"
import type { Commit } from "../store/Commit.js"
import type { Database } from "../store/Database.js"

/** A state that a lease moves to once it has begun. */
export type LaterState = Exclude<LeaseState, "none" | "allocating">

/** Ready leases that were last used before one time or after another one, at most so many. */
export interface Unused {
  readonly before: Timestamp
  readonly soon: Timestamp
  readonly limit: number
}

/** The rows of leases, for `Leases`: one for each session, its newest. They move as drawn; any other move dies. */
export const make = ({ all, prepare, run, sql }: Database["Type"]) => {
  const use = prepare(
    (at: Timestamp, sessionId: SessionId) => sql`update leases set used_at = ${at} where session_id = ${sessionId}`
  )
  const check = (from: LeaseState, to: LeaseState) => Effect.orDie(leaseStates.check(from, to))

  return {
    /** Begins a lease in the place of the last one, which has ended. */
    begin: (
      sessionId: SessionId,
      last: Lease | null,
      { at, id }: { readonly id: LeaseId; readonly at: Timestamp }
    ): Effect.Effect<void, never, Commit> =>
      Effect.zipRight(
        check(last === null || leaseStates.isTerminal(last.state) ? "none" : last.state, "allocating"),
        run(sql`insert into leases (session_id, id, state, created_at) values (${sessionId}, ${id}, 'allocating', ${at})
          on conflict (session_id) do update
          set id = excluded.id, state = excluded.state, created_at = excluded.created_at, used_at = null`)
      ),
    /** Moves a lease. One that gets ready counts as used. */
    move: (
      sessionId: SessionId,
      lease: Pick<Lease, "state">,
      to: LaterState,
      at: Timestamp
    ): Effect.Effect<void, never, Commit> =>
      Effect.zipRight(
        check(lease.state, to),
        run(sql`update leases set ${sql.update({ state: to, ...(to === "ready" && { used_at: at }) })}
          where session_id = ${sessionId}`)
      ),
    unused: ({ before, limit, soon }: Unused): Effect.Effect<ReadonlyArray<SessionId>> =>
      Effect.map(
        all(sql<{ session_id: SessionId }>`select session_id from leases
          where state = 'ready' and (used_at <= ${before} or used_at > ${soon}) order by used_at limit ${limit}`),
        (rows) => rows.map(({ session_id }) => session_id)
      ),
    /** Notes that a lease is used now. */
    use: (sessionId: SessionId, at: Timestamp): Effect.Effect<void, never, Commit> => run(use(at, sessionId))
  }
}
