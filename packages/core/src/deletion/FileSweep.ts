import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { SessionId } from "../domain/Ids.js"
import { removeTree } from "../files/RemoveTree.js"
import { ownedDirectories } from "./OwnedDirectories.js"
import { receiptStore } from "./Receipts.js"
import { resourceReceipts } from "./ResourceReceipts.js"

/** The sessions that are looked up at once. */
const batch = 500

const isSessionId = Schema.is(SessionId)

/**
 * Removes the files that this machine still has of deleted sessions, projects and workspaces. Another node has deleted them when this one had the sessions before, and was
 * away or had moved the files aside.
 */
export const fileSweep = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const receipts = yield* receiptStore
  const resources = yield* resourceReceipts
  const directories = yield* ownedDirectories

  const removeIn = Effect.fnUntraced(function* (folder: string) {
    const names = yield* Effect.promise(() => readdir(folder).catch((): Array<string> => []))
    for (let from = 0; from < names.length; from += batch) {
      const some = names.slice(from, from + batch)
      const deleted = new Set<string>(yield* receipts.deletedOf([...new Set(some.map(idIn).filter(isSessionId))]))
      for (const name of some.filter((each) => deleted.has(idIn(each))))
        yield* Effect.promise(() => removeTree(join(folder, name)))
    }
  })

  const removeOwned = Effect.gen(function* () {
    const owners = (yield* directories.list).map(({ owner }) => owner)
    const ids = [
      ...new Set(owners.flatMap(({ project_id, workspace_id }) => [workspace_id, project_id ?? workspace_id]))
    ]
    for (let from = 0; from < ids.length; from += batch) {
      const deleted = yield* resources.deletedOf(ids.slice(from, from + batch))
      if (deleted.size > 0)
        yield* directories.remove(
          ({ project_id, workspace_id }) =>
            deleted.has(workspace_id) || (project_id !== null && deleted.has(project_id))
        )
    }
  })

  return Effect.forEach(["sessions", "lost+found"], (name) => removeIn(join(dataDir, name)), { discard: true }).pipe(
    Effect.zipRight(removeOwned),
    Effect.catchAll(({ message }) => Effect.logWarning(message)),
    Effect.withSpan("fileSweep")
  )
})

/** The id that the name of a directory begins with. Files that were moved aside have the epoch of their place behind it. */
const idIn = (name: string): string => name.split(/[-.]/, 1)[0] ?? ""
