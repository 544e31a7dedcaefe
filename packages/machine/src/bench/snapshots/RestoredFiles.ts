import * as fs from "node:fs/promises"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { attempt } from "../../files/Beneath.js"
import { usualMode } from "../../files/Leftovers.js"
import { pathText } from "../../files/NameText.js"
import { setModes, unpackFiles, unpackJson } from "../../files/PackedFiles.js"
import { Git } from "../../git/Git.js"
import type { SessionPaths } from "../SessionPaths.js"
import { archived } from "./Archived.js"
import { fetchBlob } from "./FetchedBlob.js"
import type { RestoreEar, RestoreOrder } from "./TreeSnapshots.js"

const usualMask = 0o022

type Ear = Pick<RestoreEar, "blob">

/** Puts what git does not hold back: ignored files, the agent's repository and record, and permissions. Gives the paths that could not be written. */
export const restoredFiles = Effect.gen(function* () {
  const git = yield* Git

  /** The permissions of everything that git holds, where the mask of this process is not the usual one; else those that are unusual. */
  const modesOf = Effect.fnUntraced(function* (
    { manifest }: RestoreOrder,
    { gitDir }: SessionPaths,
    staging: string,
    ear: Ear
  ) {
    const blob = manifest.blobs.modes
    const file = blob && (yield* fetchBlob(blob, join(staging, "modes"), ear))
    // Boundary: the digest of the file says that `packJson` has written it.
    const listed = (file === null ? [] : yield* attempt(file, () => unpackJson(file))) as ReadonlyArray<
      readonly [string, number]
    >
    if (process.umask() === usualMask || manifest.commit === null) return new Map(listed)
    const usual = new Map<string, number>()
    for (const [name, mode] of yield* git.treeModes({ gitDir, tree: manifest.commit })) {
      const path = pathText(Buffer.from(name, "latin1"))
      if (mode === "120000" || mode === "160000") continue
      for (let folder = dirname(path); folder !== "." && !usual.has(folder); folder = dirname(folder))
        usual.set(folder, usualMode("directory", 0))
      usual.set(path, usualMode("file", Number.parseInt(mode, 8)))
    }
    return new Map([...usual, ...listed])
  })

  return Effect.fnUntraced(function* (order: RestoreOrder, paths: SessionPaths, staging: string, ear: Ear) {
    const { gitDir, home, workTree } = paths
    const { files, repository, state } = order.manifest.blobs
    const roots = new Map<string, string>([
      [archived.workspace, workTree],
      [archived.trusted, gitDir],
      [archived.repository, join(workTree, ".git")],
      [archived.state, home]
    ])
    yield* attempt(home, () => fs.mkdir(home, { recursive: true }))
    const skipped: Array<string> = []
    for (const [name, blob] of Object.entries({ files, repository, state })) {
      if (blob === null) continue
      const file = yield* fetchBlob(blob, join(staging, name), ear)
      if (name === "repository") yield* attempt(name, () => fs.mkdir(join(workTree, ".git"), { recursive: true }))
      skipped.push(...(yield* unpackFiles(file, (part) => roots.get(part) ?? null)))
    }
    yield* setModes(workTree, yield* modesOf(order, paths, staging, ear))
    return skipped
  })
})
