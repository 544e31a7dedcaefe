import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { namesOnlyStore } from "../../capture/agent/AgentAlternates.js"
import type { Snapshot } from "../../capture/Snapshot.js"
import { attempt } from "../../files/Beneath.js"
import { type Leftover, type LeftoverBounds, leftoversOf } from "../../files/Leftovers.js"
import { pathText } from "../../files/NameText.js"
import { pack, packJson } from "../../files/PackedFiles.js"
import { readOne, readTree, type TreeOptions } from "../../files/TreeReader.js"
import { Git } from "../../git/Git.js"
import { outsideOf } from "../../repository/run/Cone.js"
import type { SessionPaths } from "../SessionPaths.js"
import { archived } from "./Archived.js"
import { onlyPaths } from "./OnlyPaths.js"
import type { LeftOut } from "./SnapshotManifest.js"
import type { SealedPart, SealOrder } from "./TreeSnapshots.js"

/** The bytes of ignored files and of what else git does not hold that a snapshot takes. */
const leftoverBytes = 32 * 1024 * 1024

const bounds: LeftoverBounds = { maxBytes: leftoverBytes, maxEntries: 20_000 }

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
const heldBy = ({ sparse }: SealOrder, { changes }: Snapshot, inTree: ReadonlyMap<string, unknown>) => {
  const isOutside = sparse === null ? () => false : outsideOf(sparse)
  const changed = new Set(changes.map(({ path }) => path))
  const isRestored = (path: string) => !isOutside(path) || changed.has(path)
  return [...inTree.keys()].filter(isRestored).map((path) => pathText(Buffer.from(path, "latin1")))
}

/** Packs what git does not hold of a captured working tree: ignored files, the repository of the agent, and unusual permissions. */
export const sealedFiles = Effect.fnUntraced(function* (
  order: SealOrder,
  { gitDir, workTree }: SessionPaths,
  captured: Snapshot,
  at: (name: SealedPart) => string
) {
  const { treeModes } = yield* Git
  const held = heldBy(order, captured, yield* treeModes({ gitDir, tree: captured.tree }))
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
