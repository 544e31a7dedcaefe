import { existsSync, readdirSync } from "node:fs"
import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Data, Effect, Option } from "effect"
import { CoreConfig } from "../../base/CoreConfig.js"
import { sessionPaths } from "../../bench/SessionPaths.js"
import { owedPaths } from "../../bench/setup/OwedSetup.js"
import { attempt, type BeneathError } from "../../files/Beneath.js"
import { type Leftover, type LeftoverBounds, leftoversOf } from "../../files/Leftovers.js"
import { pathText } from "../../files/NameText.js"
import { describeFile, pack, packJson, type WrittenBlob } from "../../files/PackedFiles.js"
import { readOne, readTree, type TreeOptions } from "../../files/TreeReader.js"
import { namesOnlyStore } from "../../git/AgentAlternates.js"
import { outsideOf } from "../../git/Cone.js"
import { Git } from "../../git/Git.js"
import type { GitError } from "../../git/GitError.js"
import { isOfMachine } from "../../git/RemoteUrl.js"
import type { Snapshot } from "../../git/Snapshot.js"
import { Harness } from "../../harness/Harness.js"
import { Manifests } from "../../harness/Manifests.js"
import type { SessionRow, WorkingTree } from "../../sessions/SessionRow.js"
import type { LeftOut, SnapshotManifest } from "./SnapshotManifest.js"

/** The bytes of ignored files and of what else git does not hold that a snapshot takes. */
export const leftoverBytes = 32 * 1024 * 1024

const bounds: LeftoverBounds = { maxBytes: leftoverBytes, maxEntries: 20_000 }

/** So many things that were left out are listed. The others are counted. */
const maxListed = 200

/** From this snapshot of a session on its base is in the store too, so that a remote which forgets commits takes nothing away. */
const baseFrom = 20

/** The agent may still write for a moment after its turn. */
const stateReadings = 3

/** The parts of a snapshot as files, which are gone with the scope. */
export interface SnapshotPartFiles {
  readonly blobs: Readonly<Record<keyof SnapshotManifest["blobs"], WrittenBlob | null>>
  readonly commit: string | null
  readonly nativeDigest: string | null
  readonly leftOut: ReadonlyArray<LeftOut>
  readonly moreLeftOut: number
}

/** The names that the snapshot gives to parts of its archives. */
export const archived = {
  workspace: "workspace",
  trusted: "trusted",
  repository: "repository",
  state: "state"
} as const

/** The files that the service keeps beside the objects of git, and cannot make again. */
const keptBeside = ["reins-baseline", "reins-own-files", "reins-removed"]

/** Chooses what is taken, the smallest first, so that one that is too large keeps no other out. */
const chosenOf = (items: ReadonlyArray<Leftover>) => {
  const taken = new Set<string>()
  const leftOut: Array<LeftOut> = []
  let left = leftoverBytes
  const bySize = [...items].sort((one, other) => (one.bytes ?? Infinity) - (other.bytes ?? Infinity))
  for (const { bytes, path } of bySize) {
    if (bytes !== null && bytes <= left) {
      left -= bytes
      taken.add(path)
    } else leftOut.push({ path, bytes, reason: "too_large" })
  }
  return { taken, leftOut }
}

/** Leaves out of a tree what is neither one of the paths, nor above one, nor below one. `prefix` is the name of the root. */
const onlyPaths = (prefix: string, paths: ReadonlySet<string>): NonNullable<TreeOptions["leaveOut"]> => {
  const above = new Set<string>()
  for (const path of paths)
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) above.add(path.slice(0, at))
  const isBelow = (path: string): boolean => {
    for (let at = path.length; at > 0; at = path.lastIndexOf("/", at - 1)) if (paths.has(path.slice(0, at))) return true
    return false
  }
  return (full) => {
    const path = full.slice(prefix.length + 1)
    return !above.has(path) && !isBelow(path)
  }
}

/** Leaves out what a clone has given to the agent, which a restored session gets from its base, and the name of a store of this machine. */
const withoutClone = (prefix: string, gitDir: string, namesStore: boolean): NonNullable<TreeOptions["leaveOut"]> => {
  const packs = join(gitDir, "objects", "pack")
  const known = new Set(existsSync(packs) ? readdirSync(packs).map((name) => name.replace(/\.\w+$/, "")) : [])
  const within = `${prefix}/objects/pack/`
  return (path) =>
    (namesStore && path === `${prefix}/objects/info/alternates`) ||
    (path.startsWith(within) && known.has(path.slice(within.length).replace(/\.\w+$/, "")))
}

/** The paths of a captured tree that a checkout brings back. A sparse one leaves out what is outside of its folders and unchanged. */
const heldBy = ({ sparse }: WorkingTree, { changes }: Snapshot, inTree: ReadonlyMap<string, unknown>) => {
  const isOutside = sparse === null ? () => false : outsideOf(JSON.parse(sparse))
  const changed = new Set(changes.map(({ path }) => path))
  const isRestored = (path: string) => !isOutside(path) || changed.has(path)
  return [...inTree.keys()].filter(isRestored).map((path) => pathText(Buffer.from(path, "latin1")))
}

/** Makes the parts of a snapshot of a session, which nobody changes meanwhile. */
export const snapshotParts = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const git = yield* Git
  const stateOf = yield* nativeState

  const captureOf = Effect.fnUntraced(function* (session: SessionRow) {
    const { gitDir, workTree } = sessionPaths(dataDir, session.id)
    const base = session.tree.base_commit
    const captured = yield* git.snapshot({ gitDir, workTree, base, whole: true, passing: true })
    yield* git.keep({ gitDir, ref: "sealed", commit: captured.commit })
    return captured
  })

  const bundleOf = Effect.fnUntraced(function* (session: SessionRow, what: "base" | "work", file: string) {
    const { gitDir } = sessionPaths(dataDir, session.id)
    const isThere = yield* git.bundle({ gitDir, what, base: session.tree.base_commit, file })
    return isThere ? yield* attempt(file, () => describeFile(file)) : null
  })

  const filesOf = Effect.fnUntraced(function* (session: SessionRow, captured: Snapshot, at: (name: string) => string) {
    const { gitDir, workTree } = sessionPaths(dataDir, session.id)
    const held = heldBy(session.tree, captured, yield* git.treeModes({ gitDir, tree: captured.tree }))
    const namesStore = yield* namesOnlyStore(workTree)
    return yield* attempt(workTree, async () => {
      const { items, modes } = await leftoversOf(workTree, held, new Set([".git"]), bounds)
      const { leftOut, taken } = chosenOf(items)
      const unreadable: Array<LeftOut> = []
      const skipped = (path: string) => unreadable.push({ path, bytes: null, reason: "unreadable" })
      const beside = keptBeside.filter((name) => existsSync(join(gitDir, name)))
      const files = await pack(at("files"), [
        ...(taken.size === 0
          ? []
          : [
              {
                part: archived.workspace,
                entries: readTree(workTree, "workspace", { leaveOut: onlyPaths("workspace", taken), skipped })
              }
            ]),
        ...beside.map((name) => ({ part: archived.trusted, entries: readOne(join(gitDir, name), `git/${name}`) }))
      ])
      const repository = await pack(at("repository"), [
        {
          part: archived.repository,
          entries: readTree(join(workTree, ".git"), "git", {
            leaveOut: withoutClone("git", gitDir, namesStore),
            skipped
          })
        }
      ])
      return {
        files,
        repository,
        modes: modes.length === 0 ? null : await packJson(at("modes"), modes),
        leftOut: [...leftOut, ...unreadable]
      }
    })
  })

  return Effect.fnUntraced(function* (session: SessionRow, ordinal: number, keptBase: boolean, staging: string) {
    const at = (name: string) => join(staging, name)
    const hasFiles = session.tree.state === "ready"
    const captured = hasFiles ? yield* captureOf(session) : null
    const needsBase =
      session.tree.base_commit !== null &&
      !keptBase &&
      (ordinal >= baseFrom || session.tree.repository === null || isOfMachine(session.tree.repository))
    const base = needsBase ? yield* bundleOf(session, "base", at("base")) : null
    const work = yield* bundleOf(session, "work", at("work"))
    const found = captured && (yield* filesOf(session, captured, at))
    const state = hasFiles ? yield* stateOf(session, at("state")) : null
    const owed = yield* attempt(staging, () => owedPaths(sessionPaths(dataDir, session.id)))
    const leftOut: ReadonlyArray<LeftOut> = [
      ...(captured?.diagnostics ?? []).map((path) => ({ path, bytes: null, reason: "not_captured" as const })),
      ...(found?.leftOut ?? []),
      // The snapshot before had no place for them, and the setup that makes them has not run here yet.
      ...owed.map((path) => ({ path, bytes: null, reason: "too_large" as const }))
    ]
    const parts: SnapshotPartFiles = {
      blobs: {
        base,
        work,
        repository: found?.repository ?? null,
        files: found?.files ?? null,
        modes: found?.modes ?? null,
        state: state?.blob ?? null
      },
      commit: captured?.commit ?? null,
      nativeDigest: state?.digest ?? null,
      leftOut: leftOut.slice(0, maxListed),
      moreLeftOut: Math.max(leftOut.length - maxListed, 0)
    }
    return parts
  })
})

/** Writes the agent's own record of a conversation, as it is at one moment. */
const nativeState = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const harness = yield* Harness
  const manifests = yield* Manifests

  return Effect.fnUntraced(function* (session: SessionRow, file: string) {
    const { home } = sessionPaths(dataDir, session.id)
    const manifest = yield* Effect.option(manifests.get(session.provider_id))
    if (Option.isNone(manifest)) return null
    for (let reading = 1; reading <= stateReadings; reading++) {
      const { digest, files } = yield* harness.nativeState(manifest.value, home)
      if (digest === null) return null
      const leaveOut = onlyPaths("home", new Set(files.map(({ path }) => path)))
      const blob: WrittenBlob | null = yield* attempt(home, async () => {
        await fs.rm(file, { force: true })
        return pack(file, [{ part: archived.state, entries: readTree(home, "home", { leaveOut }) }])
      })
      const again = yield* harness.nativeState(manifest.value, home)
      if (again.digest === digest) return { blob, digest }
    }
    return yield* stillWriting
  })
})

/** The agent has written its own record whenever it was read. */
export class StateMoves extends Data.TaggedError("StateMoves")<{ readonly message: string }> {}

const stillWriting = new StateMoves({
  message: "The agent writes its own record without a pause, so that no moment of it can be kept. It is tried again."
})

/** The failures of making the parts of a snapshot. */
export type PartsFailure = GitError | BeneathError | StateMoves
