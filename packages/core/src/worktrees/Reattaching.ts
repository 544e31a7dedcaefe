import { basename } from "node:path"
import { Effect } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { Git } from "../git/Git.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { gitCredentials } from "./GitCredentials.js"
import { objectStores } from "./ObjectStores.js"
import { sessionPaths } from "./SessionPaths.js"

/**
 * Gives a session its objects back whose store is gone or in doubt, by the credential of the session. True when they came anew: a process that has
 * the store of before mounted does not see them. The caller keeps everybody else from making or removing the workspace.
 */
export const reattaching = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  const storesOf = yield* objectStores
  const gitCredential = yield* gitCredentials

  return Effect.fnUntraced(function* (row: SessionRow) {
    const stores = yield* storesOf
    const store = stores.storeFor(row)
    const path = yield* stores.named(row)
    if (row.tree.repository === null || store === null || path === null) return false
    const { gitDir, workTree } = sessionPaths(dataDir, row.id)
    const credential = yield* gitCredential(row)
    return yield* git.reattach({
      gitDir,
      workTree,
      url: row.tree.repository,
      base: row.tree.base_commit,
      named: stores.at(basename(path)),
      store,
      ...(credential && { credential })
    })
  })
})
