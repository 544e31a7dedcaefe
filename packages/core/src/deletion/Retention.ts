import { fn } from "@reins/base/base/Traced"
import type { SessionId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { fromNow, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { Access, systemActor, type Unseen } from "../access/Access.js"
import { identityRemoval } from "../identity/Removal.js"
import { oldSessions } from "../sessions/OldSessions.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { sessionRemoval } from "../sessions/SessionRemoval.js"
import { Journal } from "../store/Journal.js"
import { makeDeleteTrees } from "./DeletionBegin.js"
import type { RetentionPreview } from "./DeletionsApi.js"

const actor = systemActor("retention")

const dayMs = 86_400_000

/** Sessions that one look finds. */
const batch = 100

/** Deletes the old sessions of workspaces that say how long theirs are kept. */
export class Retention extends Context.Tag("@reins/core/deletion/Retention")<
  Retention,
  {
    /** The sessions that would go now if the workspace kept archived and closed ones for so many days. */
    readonly preview: (
      principal: Principal,
      workspaceId: string,
      days: number
    ) => Effect.Effect<RetentionPreview, Unseen>
    /**
     * Begins the deletion of every session that is archived or closed, and was last used longer ago than its workspace keeps those. A session stays
     * with those that work for it until all of them are old. One that cannot be deleted now is looked at again by the next sweep.
     */
    readonly sweep: Effect.Effect<void>
  }
>() {
  /** Keeps every session, as an installation without the rooms of sessions. */
  static readonly layerNone = Layer.succeed(
    Retention,
    Retention.of({
      preview: (_principal, _workspaceId, days) =>
        Effect.map(fromNow(-days * dayMs), (used_before) => ({ sessions_days: days, sessions: 0, used_before })),
      sweep: Effect.void
    })
  )

  static readonly layer = Layer.effect(
    Retention,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const old = yield* oldSessions
      const { retentions } = yield* identityRemoval
      const { isHidden } = yield* sessionRemoval
      const { deleteTree } = yield* makeDeleteTrees

      const remove = Effect.fnUntraced(function* (id: SessionId) {
        const row = yield* sessions.lock(id)
        // Somebody may have opened it meanwhile.
        if (row === undefined || row.lifecycle === "open" || (yield* isHidden(id))) return
        yield* Effect.ignore(deleteTree(row, actor))
      })

      const sweepOf = Effect.fnUntraced(function* (workspaceId: string, before: Timestamp) {
        let after = ""
        for (;;) {
          const roots = yield* old.roots(workspaceId, before, { after, limit: batch })
          for (const id of roots) yield* journal.commit(remove(id))
          if (roots.length < batch) return
          after = roots.at(-1) ?? after
        }
      })

      return Retention.of({
        preview: fn("Retention.preview")(function* (principal, workspaceId, days) {
          yield* access.read(principal, workspaceId)
          const before = yield* fromNow(-days * dayMs)
          return { sessions_days: days, sessions: yield* old.count(workspaceId, before), used_before: before }
        }),
        sweep: Effect.flatMap(retentions, (all) =>
          Effect.forEach(all, ({ before, id }) => sweepOf(id, before), { discard: true })
        ).pipe(Effect.withSpan("Retention.sweep"))
      })
    })
  )
}
