import { randomUUID } from "node:crypto"
import { Boot } from "@reins/base/base/Boot"
import { Effect, FiberSet, type Scope } from "effect"
import type { Bell } from "../../store/Bell.js"
import { alone } from "../../store/CommitLock.js"
import { Database } from "../../store/Database.js"
import { Journal } from "../../store/Journal.js"
import * as Loop from "../../store/Loop.js"
import { nowMs } from "../NodeClock.js"

/** Takes one of so many seats until the scope closes. False when all are taken. */
export type TakeSeat = (seat: string, limit: number) => Effect.Effect<boolean, never, Scope.Scope>

/** The seats of all nodes. Those of a node count while it has its lease, so that a lost one keeps nobody from a seat. */
export const seatsOfNodes: Effect.Effect<TakeSeat, never, Bell | Boot | Database | Journal | Scope.Scope> = Effect.gen(
  function* () {
    const db = yield* Database
    const { first, run, sql } = db
    const { commit } = yield* Journal
    const { bootId } = yield* Boot
    const fork = yield* FiberSet.makeRuntime<never>()
    const living = sql`select boot_id from nodes where expires_at > ${nowMs(sql)}`

    const take = (id: string, seat: string, limit: number) =>
      commit(
        Effect.zipRight(
          alone(db, seat),
          first(sql`insert into stream_seats (id, seat, boot_id) select ${id}, ${seat}, ${bootId}
            where (select count(*) from stream_seats where seat = ${seat} and boot_id in (${living})) < ${limit}
            returning id`)
        )
      )
    const leave = (id: string) =>
      Loop.insist(
        { failure: "the seat of a stream could not be left" },
        run(sql`delete from stream_seats where id = ${id}`)
      )
    yield* Loop.start({
      failure: "the streams of ended nodes could not be forgotten",
      everyMs: 3_600_000,
      round: run(sql`delete from stream_seats where boot_id <> ${bootId} and boot_id not in (${living})`)
    })

    return (seat, limit) => {
      const id = randomUUID()
      return Effect.map(
        Effect.acquireRelease(take(id, seat, limit), (taken) =>
          Effect.sync(() => {
            if (taken !== undefined) fork(leave(id))
          })
        ),
        (taken) => taken !== undefined
      )
    }
  }
)
