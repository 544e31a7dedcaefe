import { createReadStream, existsSync } from "node:fs"
import { join } from "node:path"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { diskFault } from "@reins/base/base/DiskFault"
import type { ChangesetId, SessionId } from "@reins/base/domain/Ids"
import { Effect, Stream } from "effect"
import { attempt, type BeneathError } from "../../files/Beneath.js"
import { describeFile } from "../../files/PackedFiles.js"
import { Git } from "../../git/Git.js"
import type { BundleRequest } from "../../repository/Bundles.js"
import { isOfMachine } from "../../repository/remote/RemoteUrl.js"
import type { GitError } from "../../repository/run/GitError.js"
import { sessionPaths } from "../SessionPaths.js"
import { stagingIn } from "../Staging.js"
import { owedPaths } from "../setup/OwedSetup.js"
import { sealedFiles } from "./SealedFiles.js"
import { sealedState } from "./SealedState.js"
import type { LeftOut, PartBlob } from "./SnapshotManifest.js"
import { type SealedPart, type SealedTree, type SealOrder, SnapshotError } from "./TreeSnapshots.js"

/** So many things that were left out are listed. The others are counted. */
const maxListed = 200

/** From this snapshot of a session on its base is in the store too, so that a remote which forgets commits takes nothing away. */
const baseFrom = 20

const failureOf = (error: GitError | BeneathError | SnapshotError): SnapshotError => {
  if (error._tag === "SnapshotError") return error
  const message = error._tag === "GitError" ? error.message : diskFault("The files cannot be read or written", error)
  return new SnapshotError({ message, retryable: true })
}

/** The directories of a session in which parts are made. */
const stagings = { snapshot: "sealing", changeset: "captured" } as const

/** A part as others know it. */
const nameOf = (part: PartBlob | null | undefined): PartBlob | null =>
  part ? { digest: part.digest, size: part.size } : null

/** Makes the parts of snapshots on this machine, and reads them. */
export const sealHere = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const bundle = yield* makeBundle
  const makeParts = yield* makeSeal

  return {
    seal: Effect.fnUntraced(function* (order: SealOrder) {
      const paths = sessionPaths(dataDir, order.session)
      // A working tree that was never made has nothing to keep.
      if (!existsSync(paths.gitDir)) return null
      const staging = yield* stagingIn(paths, stagings.snapshot)
      return yield* Effect.mapError(makeParts(order, staging), failureOf)
    }),
    sealChangeset: Effect.fnUntraced(function* (session: SessionId, base: string | null, changeset: ChangesetId) {
      const file = join(yield* stagingIn(sessionPaths(dataDir, session), stagings.changeset), "changeset")
      const made = bundle({ session, base_commit: base }, { ref: `changesets/${changeset}` }, file)
      return (yield* Effect.mapError(made, failureOf)) ?? (yield* nothingCaptured)
    }),
    read: (session: SessionId, part: SealedPart) =>
      Stream.suspend(() => {
        const { root } = sessionPaths(dataDir, session)
        const file = join(root, part === "changeset" ? stagings.changeset : stagings.snapshot, part)
        return Stream.fromAsyncIterable<Uint8Array, SnapshotError>(
          createReadStream(file, { highWaterMark: 1024 * 1024 }),
          (cause) =>
            new SnapshotError({ message: diskFault("A part of the snapshot cannot be read", cause), retryable: true })
        )
      })
  }
})

const nothingCaptured = new SnapshotError({ message: "The changeset has no objects.", retryable: false })

/** Writes references of a session into a bundle. Null, and no file, when there are none. */
const makeBundle = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git

  return Effect.fnUntraced(function* (
    { base_commit, session }: Pick<SealOrder, "base_commit" | "session">,
    what: BundleRequest["what"],
    file: string
  ) {
    const { gitDir } = sessionPaths(dataDir, session)
    const isThere = yield* git.bundle({ gitDir, what, base: base_commit, file })
    return isThere ? nameOf(yield* attempt(file, () => describeFile(file))) : null
  })
})

const makeSeal = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  const bundle = yield* makeBundle
  const stateOf = yield* sealedState

  return Effect.fnUntraced(function* (order: SealOrder, staging: string) {
    const at = (name: SealedPart) => join(staging, name)
    const paths = sessionPaths(dataDir, order.session)
    const { gitDir, workTree } = paths
    const { base_commit, hasBase, hasFiles, ordinal, repository } = order
    const captured = hasFiles
      ? yield* git.snapshot({ gitDir, workTree, base: base_commit, whole: true, passing: true })
      : null
    if (captured !== null) yield* git.keep({ gitDir, ref: "sealed", commit: captured.commit })
    const needsBase =
      base_commit !== null && !hasBase && (ordinal >= baseFrom || repository === null || isOfMachine(repository))
    const base = needsBase ? yield* bundle(order, "base", at("base")) : null
    const work = yield* bundle(order, "work", at("work"))
    const found = captured && (yield* Effect.provideService(sealedFiles(order, paths, captured, at), Git, git))
    const state = hasFiles ? yield* stateOf(order, at("state")) : null
    const owed = yield* attempt(staging, () => owedPaths(paths))
    const leftOut: ReadonlyArray<LeftOut> = [
      ...(captured?.diagnostics ?? []).map((path) => ({ path, bytes: null, reason: "not_captured" as const })),
      ...(found?.leftOut ?? []),
      // The snapshot before had no place for them, and the setup that makes them has not run here yet.
      ...owed.map((path) => ({ path, bytes: null, reason: "too_large" as const }))
    ]
    const sealed: SealedTree = {
      blobs: {
        base,
        work,
        repository: nameOf(found?.repository),
        files: nameOf(found?.files),
        modes: nameOf(found?.modes),
        state: nameOf(state?.blob)
      },
      commit: captured?.commit ?? null,
      nativeDigest: state?.digest ?? null,
      leftOut: leftOut.slice(0, maxListed),
      moreLeftOut: Math.max(leftOut.length - maxListed, 0)
    }
    return sealed
  })
})
