import { fn } from "@reins/base/base/Traced"
import type { Actor } from "@reins/base/domain/Event"
import { type DelegationId, newId, ResultId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { Delegation, Result } from "./Delegation.js"
import { DelegationStore } from "./DelegationStore.js"
import { makeJudge } from "./ReviewVerdicts.js"

/** The part of a result that its author gives. */
export type ResultContent = Pick<Result, "kind" | "verdict" | "summary" | "value" | "changeset_id">

/** The rows of results. A delegation has one at most, and succeeds with it. */
export class ResultStore extends Context.Tag("@reins/core/delegations/ResultStore")<
  ResultStore,
  {
    /** The result of a delegation, once there is one. */
    readonly find: (delegationId: DelegationId) => Effect.Effect<Result | undefined>
    /**
     * Writes the result of an ongoing delegation that has begun and has none yet, tells it, and ends the delegation as succeeded. A review is a verdict
     * on the changeset that the child began with. The commit holds the child session. Dies for any other delegation.
     */
    readonly publish: (
      delegation: Delegation,
      content: ResultContent,
      actor: Actor
    ) => Effect.Effect<Result, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    ResultStore,
    Effect.gen(function* () {
      const db = yield* Database
      const delegations = yield* DelegationStore
      const judge = yield* makeJudge
      const sql = db.sql

      return ResultStore.of({
        find: fn("ResultStore.find")(function* (id) {
          const row = yield* db.first(sql<ResultRow>`select * from delegation_results where delegation_id = ${id}`)
          return row === undefined ? undefined : toResult(row)
        }),
        publish: fn("ResultStore.publish")(function* (delegation, content, actor) {
          const row: ResultRow = {
            id: yield* newId(ResultId),
            delegation_id: delegation.id,
            content: JSON.stringify(content),
            author: JSON.stringify({ kind: actor.kind, id: actor.id }),
            created_at: yield* now
          }
          yield* db.run(sql`insert into delegation_results ${sql.insert({ ...row })}`)
          yield* judge(delegation, content)
          const { changeset_id, kind, verdict } = content
          yield* delegations.tell(delegation, actor, {
            type: "delegation.result_published",
            payload: { result_id: row.id, kind, verdict, changeset_id }
          })
          // A result may come while the turn that works on it still runs.
          if (delegation.state === "active") yield* delegations.move(delegation.id, "waiting_result", actor)
          yield* delegations.move(delegation.id, "succeeded", actor)
          return toResult(row)
        })
      })
    })
  )
}

interface ResultRow extends Pick<Result, "id" | "delegation_id" | "created_at"> {
  readonly content: string
  readonly author: string
}

const toResult = ({ author, content, ...row }: ResultRow): Result => {
  const parsed: ResultContent = JSON.parse(content)
  return { ...row, ...parsed, author: JSON.parse(author) }
}
