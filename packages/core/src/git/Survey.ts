import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import type { TreeFile } from "./Capture.js"
import type { Capturing } from "./Capturing.js"
import { noMode, readRaw } from "./Changes.js"
import { emptyTree, git, isObjectId, records } from "./GitCommand.js"
import { type GitError, onDisk, readOutput } from "./GitError.js"
import { gitlink } from "./GitModules.js"
import { editIndex } from "./IndexEdit.js"
import type { Links } from "./Links.js"
import { skipPaths, treeFiles } from "./Outside.js"
import { type Submodules, submodulesOf } from "./Submodules.js"

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
  readonly untracked: ReadonlySet<string>
  /** Repositories that are no submodules. */
  readonly nested: ReadonlyArray<string>
  readonly submodules: Submodules
  /** Paths that are gone, whatever is there: they are below a submodule, or were submodules. */
  readonly gone: ReadonlySet<string>
  readonly warnings: ReadonlyArray<string>
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

const directoryWarnings = (stderr: string): ReadonlyArray<string> =>
  [...stderr.matchAll(/could not open directory '([^\n]*)':/g)].map(
    ([, path]) => `${JSON.stringify(path ?? "")} could not be opened`
  )

export const exists = (path: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fs.access(path).then(
      () => true,
      () => false
    )
  )

const inGitDir = <A>(run: () => Promise<A>) => onDisk("The index could not be kept", run)

export const moveIndex = (from: string, to: string) => inGitDir(() => fs.rename(from, to))

/** The entries of an index by path. */
const entriesOf = (capturing: Capturing, index: string) =>
  Effect.flatMap(runPlumbing(capturing, index, ["ls-files", "-z", "--stage"]), ({ stdout }) =>
    readOutput("ls-files", () => new Map(records(stdout).map(parseStaged)))
  )

/** A record of `ls-files --stage`: `<mode> <id> <stage> TAB <path>`. */
export const parseStaged = (record: string): readonly [path: string, entry: TreeFile] => {
  const [, mode = "", id = "", path = ""] = /^([0-7]{6}) ([0-9a-f]{40}) 0\t(.+)$/s.exec(record) ?? []
  if (path === "") throw new Error("not an entry of an index")
  return [path, { mode, id }]
}

/** A list of paths with commits, as it is kept beside the index of the base. */
const keptLinks = (text: string): Links =>
  new Map(
    records(Buffer.from(text, "latin1")).map((record) => {
      const [id, path] = [record.slice(0, 40), record.slice(41)]
      if (!isObjectId(id) || path === "") throw new Error("not a list of submodules")
      return [path, id]
    })
  )

// Makes an index of exactly the base, and a list of its submodules, once for each base. Only a path that the base lacks is untracked, and only
// untracked paths are subject to ignore rules.
const baseIndex = (capturing: Capturing) =>
  Effect.gen(function* () {
    const { base, gitDir, workTree } = capturing.request
    const path = join(gitDir, `reins-base-${base ?? "none"}`)
    if (base === null) return { path, links: new Map<string, string>() }
    const names = `${path}-links`
    if (!(yield* exists(path)) || !(yield* exists(names))) {
      const made = join(capturing.folder, "base")
      yield* runPlumbing(capturing, made, ["read-tree", base])
      const entries = yield* entriesOf(capturing, made)
      const lines = [...entries].flatMap(([name, { id, mode }]) => (mode === gitlink ? [`${id} ${name}\0`] : []))
      // git takes the ignore rules of a folder that is not there from the index, if the index says that their file is not needed.
      const rules = [...entries.keys()].filter(
        (name) => capturing.cone.isOutside(name) && /(?:^|\/)\.gitignore$/.test(name)
      )
      yield* skipPaths(capturing.options, { gitDir, workTree, index: made }, rules)
      yield* inGitDir(() => fs.writeFile(`${made}-links`, lines.join(""), "latin1"))
      yield* moveIndex(`${made}-links`, names)
      yield* moveIndex(made, path)
    }
    return { path, links: yield* inGitDir(async () => keptLinks(await fs.readFile(names, "latin1"))) }
  })

const isBelow = (path: string, folders: ReadonlySet<string>): boolean => {
  for (let at = path.indexOf("/"); at > 0; at = path.indexOf("/", at + 1))
    if (folders.has(path.slice(0, at))) return true
  return false
}

const isAtOrBelow = (path: string, folders: ReadonlySet<string>): boolean => folders.has(path) || isBelow(path, folders)

/** An index of the base without the paths that submodules have taken over, and without submodules that are ordinary folders by now. */
const withoutTaken = (capturing: Capturing, index: string, ofBase: Links, { dropped, links }: Submodules) =>
  Effect.gen(function* () {
    const taking = new Set([...links.keys()].filter((path) => !ofBase.has(path)))
    const none: ReadonlyMap<string, TreeFile> = new Map()
    if (taking.size === 0 && dropped.size === 0) return { path: index, taken: none }
    if (!(yield* exists(index))) return { path: index, taken: none }
    const entries = yield* entriesOf(capturing, index)
    const taken = new Map([...entries].filter(([path]) => dropped.has(path) || isAtOrBelow(path, taking)))
    const path = join(capturing.folder, "listing")
    yield* inGitDir(() => fs.copyFile(index, path))
    yield* editIndex(capturing.options, capturing.request.gitDir, path, taken, none)
    return { path, taken }
  })

const surveyBase = (capturing: Capturing) =>
  Effect.gen(function* () {
    const { links: ofBase, path } = yield* baseIndex(capturing)
    const found = yield* submodulesOf(capturing, ofBase)
    const listing = yield* withoutTaken(capturing, path, ofBase, found)
    const output = yield* runPlumbing(capturing, listing.path, ["ls-files", "-z", "--others", "--exclude-standard"])
    const others = records(output.stdout)
    const nested = new Set(others.filter((name) => name.endsWith("/")))
    // A new submodule that the ignore rules leave out is left out as other files are.
    const links = new Map([...found.links].filter(([name]) => !found.added.has(name) || nested.has(`${name}/`)))
    const folders = new Set(links.keys())
    return {
      ofBase,
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

/** Where git looks at files it must not look into submodules, because it would run there. */
const filesOnly = [...rawFlags, "--ignore-submodules=all"]

/** Where git compares an index with a tree it looks at no file. */
const linksToo = [...rawFlags, "--ignore-submodules=none"]

export const sideOf = (mode: string, id: string): TreeFile | undefined => (mode === noMode ? undefined : { mode, id })

// Lists differences only, because a workspace has many more files than changes.
export const survey = (capturing: Capturing): Effect.Effect<Survey, GitError> =>
  Effect.gen(function* () {
    const [found, dirty, differing] = yield* Effect.all(
      [
        surveyBase(capturing),
        runPlumbing(capturing, capturing.index, ["diff-files", ...filesOnly]),
        runPlumbing(capturing, capturing.index, [
          "diff-index",
          "--cached",
          ...linksToo,
          capturing.request.base ?? emptyTree
        ])
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
    for (const { newId, newMode, oldId, oldMode, path } of yield* readRaw("diff-index", differing.stdout))
      known.set(path, { base: sideOf(oldMode, oldId), cached: sideOf(newMode, newId) })
    for (const [path, entry] of found.doubtful) if (!known.has(path)) known.set(path, { base: entry, cached: entry })
    const gone = withLinks(known, found)
    return {
      ...found,
      known,
      gone,
      dirty: new Set([...dirtyFiles.map((change) => change.path), ...found.doubtful.keys()])
    }
  })
