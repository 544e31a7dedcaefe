import * as fs from "node:fs/promises"
import { join } from "node:path"
import type { ForeignText } from "@reins/base/base/ForeignText"
import { Effect } from "effect"
import { noMode, readRaw } from "../repository/read/Changes.js"
import { gitlink } from "../repository/read/GitModules.js"
import { git, records } from "../repository/run/GitCommand.js"
import { GitError, onDisk } from "../repository/run/GitError.js"
import { type BaseIndex, baseIndex, openIndex } from "./files/BaseIndex.js"
import { treeFiles } from "./files/Outside.js"
import { type Submodules, submodulesOf } from "./files/Submodules.js"
import type { TreeFile } from "./index/Capture.js"
import type { Capturing } from "./index/Capturing.js"
import { editedIndex, emptyIndex, type IndexFile, indexDifferences, indexEntries } from "./index/IndexFile.js"

// Finds the paths of a workspace that may differ from its base. Reads no content.

/** The entries of a path in the base and in the cached index, before its file is looked at. */
export interface Known {
  readonly base: TreeFile | undefined
  readonly cached: TreeFile | undefined
}

export interface Survey {
  /** Every path that may differ from the base or from the cached index. All other paths are the same in both. */
  readonly known: ReadonlyMap<string, Known>
  /** Paths of the cached index whose file may differ from it. */
  readonly dirty: ReadonlySet<string>
  /** Those of them that have no file. */
  readonly missing: ReadonlySet<string>
  readonly untracked: ReadonlySet<string>
  /** Repositories that are no submodules. */
  readonly nested: ReadonlyArray<string>
  readonly submodules: Submodules
  /** Paths that are gone, whatever is there: they are below a submodule, or were submodules. */
  readonly gone: ReadonlySet<string>
  readonly warnings: ReadonlyArray<string>
  /** The index of the base, and the one that the last capture left. */
  readonly index: IndexFile
  readonly cached: IndexFile
}

const runPlumbing = (capturing: Capturing, index: string, args: ReadonlyArray<string>) =>
  git({
    args,
    gitDir: capturing.request.gitDir,
    workTree: capturing.request.workTree,
    indexFile: index,
    settings: capturing.cone.settings,
    timeoutMs: capturing.options.localTimeoutMs
  })

const unopened = "could not open directory '"

const directoryWarnings = (stderr: ForeignText): ReadonlyArray<string> =>
  stderr.split("\n").flatMap((line) => {
    const from = line.indexOf(unopened) + unopened.length
    const end = line.lastIndexOf("':")
    return from < unopened.length || end < from ? [] : [`${JSON.stringify(line.slice(from, end))} could not be opened`]
  })

const inGitDir = <A>(run: () => Promise<A>) => onDisk("The index could not be kept", run)

/** A record of `ls-files --stage`: `<mode> <id> <stage> TAB <path>`. */
export const parseStaged = (record: string): readonly [path: string, entry: TreeFile] => {
  const [, mode = "", id = "", path = ""] = /^([0-7]{6}) ([0-9a-f]{40}) 0\t(.+)$/s.exec(record) ?? []
  if (path === "") throw new Error("not an entry of an index")
  return [path, { mode, id }]
}

const isBelow = (path: string, folders: ReadonlySet<string>): boolean => {
  for (let at = path.indexOf("/"); at > 0; at = path.indexOf("/", at + 1))
    if (folders.has(path.slice(0, at))) return true
  return false
}

const isAtOrBelow = (path: string, folders: ReadonlySet<string>): boolean => folders.has(path) || isBelow(path, folders)

/** An index of the base without the paths that submodules have taken over, and without submodules that are ordinary folders by now. */
const withoutTaken = (capturing: Capturing, base: BaseIndex, { dropped, links }: Submodules) =>
  Effect.gen(function* () {
    const taking = new Set([...links.keys()].filter((path) => !base.links.has(path)))
    const none: ReadonlyMap<string, TreeFile> = new Map()
    if ((taking.size === 0 && dropped.size === 0) || base.index === emptyIndex) return { path: base.path, taken: none }
    const entries = yield* Effect.promise(() => indexEntries(base.index))
    const taken = new Map([...entries].filter(([path]) => dropped.has(path) || isAtOrBelow(path, taking)))
    const path = join(capturing.folder, "listing")
    const gone = new Map([...taken.keys()].map((name) => [name, null]))
    yield* inGitDir(async () => fs.writeFile(path, await editedIndex(base.index, gone, capturing.since)))
    return { path, taken }
  })

const surveyBase = (capturing: Capturing) =>
  Effect.gen(function* () {
    const base = yield* baseIndex(capturing)
    const found = yield* submodulesOf(capturing, base.links)
    const listing = yield* withoutTaken(capturing, base, found)
    const output = yield* runPlumbing(capturing, listing.path, ["ls-files", "-z", "--others", "--exclude-standard"])
    const others = records(output.stdout)
    const nested = new Set(others.filter((name) => name.endsWith("/")))
    // A new submodule that the ignore rules leave out is left out as other files are.
    const links = new Map([...found.links].filter(([name]) => !found.added.has(name) || nested.has(`${name}/`)))
    const folders = new Set(links.keys())
    return {
      index: base.index,
      ofBase: base.links,
      taken: listing.taken,
      doubtful: yield* doubtful(capturing, listing.path),
      untracked: new Set(others.filter((name) => !name.endsWith("/") && !isAtOrBelow(name, folders))),
      nested: [...nested].filter((name) => !isAtOrBelow(name.slice(0, -1), folders)),
      submodules: { ...found, links },
      warnings: directoryWarnings(output.stderr)
    }
  })

/**
 * The entries of the base outside of the cone of which the index tells no difference, though there may be one. A file may stand in the place of
 * their folder, or an applied change may have removed them.
 */
const doubtful = (capturing: Capturing, index: string) =>
  Effect.gen(function* () {
    const { cone, options, request } = capturing
    if (!cone.isSparse || request.base === null) return new Map<string, TreeFile>()
    const { stdout } = yield* runPlumbing(capturing, index, ["ls-files", "-z", "--killed", "--exclude-standard"])
    const killers = new Set(records(stdout))
    if (killers.size === 0 && cone.removed.size === 0) return new Map<string, TreeFile>()
    const entries = yield* treeFiles(options, request.gitDir, request.base)
    return new Map([...entries].filter(([path]) => cone.removed.has(path) || isBelow(path, killers)))
  })

/** Gives every submodule, and every path that one has taken over, its place among the known paths. */
const withLinks = (
  known: Map<string, Known>,
  { ofBase, submodules, taken }: Effect.Effect.Success<ReturnType<typeof surveyBase>>
) => {
  const add = (path: string, base: TreeFile | undefined) => {
    const had = known.get(path)
    known.set(path, had === undefined ? { base, cached: base } : { base: had.base ?? base, cached: had.cached })
  }
  for (const [path, id] of ofBase) add(path, { mode: gitlink, id })
  for (const [path, entry] of taken) add(path, entry)
  for (const path of submodules.links.keys()) add(path, undefined)
  return new Set([...taken.keys()].filter((path) => !submodules.links.has(path)))
}

const rawFlags = ["-z", "--raw", "--no-abbrev", "--no-renames"]

/** git must not look into submodules, because it would run there. */
const filesOnly = [...rawFlags, "--ignore-submodules=all"]

/** The index that the last capture left; an empty one where there is none. */
const cachedIndexOf = (capturing: Capturing) =>
  Effect.flatMap(openIndex(capturing.index), ({ index, isThere }) =>
    index !== null
      ? Effect.succeed(index)
      : isThere
        ? Effect.fail(new GitError({ kind: "internal", message: "The index of the last capture is damaged." }))
        : Effect.succeed(emptyIndex)
  )

export const sideOf = (mode: string, id: string): TreeFile | undefined => (mode === noMode ? undefined : { mode, id })

// Lists differences only, because a workspace has many more files than changes.
export const survey = (capturing: Capturing): Effect.Effect<Survey, GitError> =>
  Effect.gen(function* () {
    const [found, dirty, cached] = yield* Effect.all(
      [
        surveyBase(capturing),
        runPlumbing(capturing, capturing.index, ["diff-files", ...filesOnly]),
        cachedIndexOf(capturing)
      ],
      { concurrency: 3 }
    )
    const dirtyFiles = yield* readRaw("diff-files", dirty.stdout)
    const known = new Map<string, Known>()
    for (const path of found.untracked) known.set(path, { base: undefined, cached: undefined })
    // A path without a difference between index and base has the same entry in both.
    for (const { oldId, oldMode, path } of dirtyFiles) {
      const entry = sideOf(oldMode, oldId)
      known.set(path, { base: entry, cached: entry })
    }
    for (const { left, path, right } of yield* Effect.promise(() => indexDifferences(found.index, cached)))
      known.set(path, { base: left, cached: right })
    for (const [path, entry] of found.doubtful) if (!known.has(path)) known.set(path, { base: entry, cached: entry })
    const gone = withLinks(known, found)
    return {
      ...found,
      cached,
      known,
      gone,
      missing: new Set(dirtyFiles.flatMap(({ letter, path }) => (letter === "D" ? [path] : []))),
      dirty: new Set([...dirtyFiles.map((change) => change.path), ...found.doubtful.keys()])
    }
  })
