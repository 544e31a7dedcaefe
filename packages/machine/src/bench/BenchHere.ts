import { mkdir } from "node:fs/promises"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { once } from "@reins/base/base/Once"
import type { SessionId } from "@reins/base/domain/Ids"
import { Effect, Layer, Stream } from "effect"
import { Files } from "../files/Files.js"
import type { Git } from "../git/Git.js"
import type { Harness } from "../harness/Harness.js"
import type { Manifests } from "../harness/Manifests.js"
import { agentsHere } from "./AgentsHere.js"
import { Bench, type TreeFiles } from "./Bench.js"
import { changesHere } from "./ChangesHere.js"
import { diskHere } from "./DiskHere.js"
import type { FileLocks } from "./FileLocks.js"
import { attachmentPath, sessionPaths } from "./SessionPaths.js"
import type { TreeSnapshots } from "./snapshots/TreeSnapshots.js"
import { treesHere } from "./TreesHere.js"

const filesHere = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const files = yield* Files
  const rootOf = (session: SessionId) => sessionPaths(dataDir, session).workTree
  const found: TreeFiles = {
    list: (session, path) => files.list(rootOf(session), path),
    read: (session, path, maxBytes) => files.read(rootOf(session), path, maxBytes),
    write: (session, path, bytes, options) => files.write(rootOf(session), path, bytes, options),
    attach: Effect.fnUntraced(function* (session, file, bytes) {
      const { home } = sessionPaths(dataDir, session)
      // The first agent of a session makes its home, and an attachment may come before.
      yield* Effect.promise(() => mkdir(home, { recursive: true, mode: 0o700 }))
      yield* Effect.catchTag(files.write(home, attachmentPath(file), bytes, {}), "FileDigestMismatch", Effect.die)
    })
  }
  return found
})

/** The snapshots of this machine. The first one loads what makes them. */
const snapshotsHere = Effect.gen(function* () {
  const context = yield* Effect.context<CoreConfig | FileLocks | Git | Harness | Manifests>()
  const making = Effect.promise(() =>
    Promise.all([import("./snapshots/SealHere.js"), import("./snapshots/RestoreHere.js")])
  )
  const made = yield* once(
    Effect.provide(
      Effect.flatMap(making, ([{ sealHere }, { restoreHere }]) => Effect.all([sealHere, restoreHere])),
      context
    )
  )
  const found: TreeSnapshots = {
    seal: (order) => Effect.flatMap(made, ([seals]) => seals.seal(order)),
    sealChangeset: (...args) => Effect.flatMap(made, ([seals]) => seals.sealChangeset(...args)),
    read: (session, part) => Stream.unwrap(Effect.map(made, ([seals]) => seals.read(session, part))),
    restore: (order, ear) => Effect.flatMap(made, ([, restores]) => restores.restore(order, ear)),
    objects: (order, ear) => Effect.flatMap(made, ([, restores]) => restores.objects(order, ear)),
    add: (...args) => Effect.flatMap(made, ([, restores]) => restores.add(...args))
  }
  return found
})

/** The bench of this process: the files, the git directories and the agents of this machine. */
export const layer = Layer.scoped(
  Bench,
  Effect.gen(function* () {
    return Bench.of({
      trees: yield* treesHere,
      files: yield* filesHere,
      disk: yield* diskHere,
      snapshots: yield* snapshotsHere,
      agents: yield* agentsHere,
      changes: yield* changesHere
    })
  })
)
