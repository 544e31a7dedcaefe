import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { attempt } from "../../files/Beneath.js"
import { Git } from "../../git/Git.js"
import type { BaseSource } from "../../repository/Bundles.js"
import { objectStores } from "../ObjectStores.js"
import type { SessionPaths } from "../SessionPaths.js"
import { fetchBlob } from "./FetchedBlob.js"
import { type RestoreEar, type RestoreOrder, SnapshotError } from "./TreeSnapshots.js"

type Ear = Pick<RestoreEar, "blob" | "credential">

/** Makes the trusted git directory of a session, the files that git holds, and the objects that the agent's repository had from its clone. */
export const restoredObjects = Effect.gen(function* () {
  const git = yield* Git
  const stores = yield* objectStores

  const baseOf = Effect.fnUntraced(function* (order: RestoreOrder, staging: string, ear: Ear) {
    const { manifest, repository } = order
    const commit = manifest.base_commit
    if (commit === null) return { kind: "none" } as const
    if (manifest.blobs.base !== null) {
      const file = yield* fetchBlob(manifest.blobs.base, join(staging, "base"), ear)
      return { kind: "bundle", file, commit } as const
    }
    if (repository === null) return yield* noBase
    const credential = yield* ear.credential
    const store = (yield* stores).storeFor(order)
    return { kind: "remote", url: repository, credential, commit, ...(store && { store }) } as const
  })

  /** Makes a trusted git directory of what a snapshot has. */
  const objects = Effect.fnUntraced(function* (
    order: RestoreOrder,
    into: { readonly staging: string; readonly gitDir: string; readonly copyBaseTo: string | null },
    ear: Ear
  ) {
    const { copyBaseTo, gitDir, staging } = into
    const base: BaseSource = yield* baseOf(order, staging, ear)
    const file = yield* fetchBlob(order.manifest.blobs.work, join(staging, "work"), ear)
    yield* git.unbundle({ gitDir, base, file, sparse: order.sparse, copyBaseTo })
  })

  const checkOut = Effect.fnUntraced(function* (
    order: RestoreOrder,
    { gitDir, workTree }: SessionPaths,
    staging: string,
    ear: Ear
  ) {
    const { base_commit, blobs, commit } = order.manifest
    const held = order.hasFiles ? commit : null
    if (held !== null) yield* attempt(workTree, () => fs.mkdir(workTree, { recursive: true }))
    const copyBaseTo = held !== null && blobs.repository !== null ? join(workTree, ".git", "objects") : null
    yield* objects(order, { staging, gitDir, copyBaseTo }, ear)
    if (held !== null) yield* git.checkOut({ gitDir, workTree, base: base_commit, commit: held })
  })
  return { objects, checkOut }
})

const noBase = new SnapshotError({
  message: "The snapshot has no base, and the session no repository.",
  retryable: false
})
