import { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect, Schema } from "effect"
import { receiptStore } from "./Receipts.js"
import { resourceReceipts } from "./ResourceReceipts.js"

/** The ids that are looked up at once. */
const batch = 500

/**
 * Removes the files that this machine still has of deleted sessions, projects and workspaces. Another node has deleted them when this one had the
 * sessions before, and was away or had moved the files aside.
 */
export const fileSweep = Effect.gen(function* () {
  const { disk } = yield* Bench
  const receipts = yield* receiptStore
  const resources = yield* resourceReceipts

  const removeSessions = Effect.gen(function* () {
    const { aside, present } = yield* disk.list
    const ids = [...new Set([...present, ...aside])].filter(Schema.is(SessionId))
    for (let from = 0; from < ids.length; from += batch)
      for (const id of yield* receipts.deletedOf(ids.slice(from, from + batch))) yield* disk.forget(id)
  })

  const removeOwned = Effect.gen(function* () {
    const owners = yield* disk.owners
    const ids = [
      ...new Set(owners.flatMap(({ project_id, workspace_id }) => [workspace_id, project_id ?? workspace_id]))
    ]
    for (let from = 0; from < ids.length; from += batch) {
      const deleted = yield* resources.deletedOf(ids.slice(from, from + batch))
      if (deleted.size > 0) yield* disk.removeOwned([...deleted])
    }
  })

  return Effect.zipRight(removeSessions, removeOwned).pipe(
    Effect.catchAll(({ message }) => Effect.logWarning(message)),
    Effect.withSpan("fileSweep")
  )
})
