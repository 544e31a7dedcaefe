import { fn } from "@reins/base/base/Traced"
import { type DelegationId, newId, WaitId } from "@reins/base/domain/Ids"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { type Wait, type WaitState, waitStates } from "./Delegation.js"

/** The rows of lasting waits. A delegation has one at most, and its end settles it. */
export class WaitStore extends Context.Tag("@reins/core/delegations/WaitStore")<
  WaitStore,
  {
    /** Reads a lasting wait without a check of access. */
    readonly find: (waitId: string) => Effect.Effect<Wait | undefined>
    /** The lasting wait of a delegation. */
    readonly findOf: (delegationId: DelegationId) => Effect.Effect<Wait | undefined>
    /** The lasting wait of a delegation, made if there is none. */
    readonly keep: (delegationId: DelegationId) => Effect.Effect<Wait, never, Commit>
    /** Ends a lasting wait. Dies for a move that `waitStates` does not draw. */
    readonly settle: (wait: Wait, to: WaitState) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    WaitStore,
    Effect.gen(function* () {
      const db = yield* Database
      const sql = db.sql

      const find = (where: "id" | "delegation_id", id: string) =>
        Effect.map(db.first(sql<WaitRow>`select * from delegation_waits where ${sql(where)} = ${id}`), (row) =>
          row === undefined ? undefined : toWait(row)
        )

      return WaitStore.of({
        find: (id) => find("id", id),
        findOf: (delegationId) => find("delegation_id", delegationId),
        keep: fn("WaitStore.keep")(function* (delegationId) {
          const known = yield* find("delegation_id", delegationId)
          if (known !== undefined) return known
          const row: WaitRow = {
            id: yield* newId(WaitId),
            delegation_id: delegationId,
            state: "pending",
            created_at: yield* now
          }
          yield* db.run(sql`insert into delegation_waits ${sql.insert({ ...row })}`)
          return toWait(row)
        }),
        settle: fn("WaitStore.settle")(function* (wait, to) {
          yield* Effect.orDie(waitStates.check(wait.state, to))
          yield* db.run(
            sql`update delegation_waits set state = ${to}, settled_at = ${yield* now} where id = ${wait.id}`
          )
        })
      })
    })
  )
}

interface WaitRow {
  readonly id: WaitId
  readonly delegation_id: DelegationId
  readonly state: WaitState
  readonly created_at: Timestamp
}

const toWait = ({ created_at, delegation_id, id, state }: WaitRow): Wait => ({
  id,
  delegation_id,
  state,
  wake: "message",
  created_at
})
