import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { attempt, BeneathError, inDirectory } from "../../files/Beneath.js"
import { sparseSettings } from "../../repository/run/Cone.js"
import { git, isObjectId, records } from "../../repository/run/GitCommand.js"
import { type GitError, notUnderstood, onDisk, readOutput } from "../../repository/run/GitError.js"
import { entriesIn, inAgentGit, readPart } from "../agent/AgentGit.js"
import type { TreeFile } from "../index/Capture.js"
import type { Capturing } from "../index/Capturing.js"
import { type FlaggedEntry, indexEntry, isSorted, readIndex } from "../index/IndexFile.js"

// Finds files that are not in the working tree because the agent's git hides them, as a sparse checkout does. They were not deleted. The index of
// the agent is copied and read by git in a directory of the service, so that git sees none of the agent's settings.

/** The paths without a file in the working tree, as far as the agent's git knows more of them. Paths are latin1. */
export interface Hidden {
  /** The entries that stay, because the agent's git needs no file there. */
  readonly kept: ReadonlyMap<string, TreeFile>
  /** Those of them of which the agent's git has a version that no capture has read, or whose version nobody knows. */
  readonly doubtful: ReadonlyArray<string>
  /** The agent's git wants a file there, so the missing one was removed, outside of the cone too. */
  readonly shown: ReadonlySet<string>
}

/** Nothing is hidden. */
export const noneHidden: Hidden = { kept: new Map(), doubtful: [], shown: new Set() }

const maxIndexBytes = 128 * 1024 * 1024
const maxConfigBytes = 1024 * 1024
const maxNames = 5_000
const maxShared = 4

/** An entry of the agent's index. That of a sparse folder is a tree, and its path ends with a slash. */
type Entry = FlaggedEntry

const folderMode = "040000"

/** A record of `ls-files -v --stage`: `<tag> <mode> <id> <stage> TAB <path>`. Throws at any other. */
const parseTagged = (record: string): readonly [path: string, entry: Entry] => {
  const [, tag = "", mode = "", id = "", stage = "", path = ""] =
    /^([A-Za-z]) ([0-7]{6}) ([0-9a-f]{40}) ([0-3])\t(.+)$/s.exec(record) ?? []
  if (path === "") throw new Error("not an entry of an index")
  // `S` needs no file in the working tree. A small letter is for a file that git was told to take as unchanged.
  const isHidden = stage === "0" && (tag === "S" || tag !== tag.toUpperCase())
  return [path, { isHidden, file: { mode, id } }]
}

type Index =
  | { readonly state: "none" }
  | { readonly state: "read"; readonly entries: Pick<ReadonlyMap<string, Entry>, "get"> }
  /** It cannot be read. `isNarrowed` says that the agent's git has, or may have, a sparse checkout. */
  | { readonly state: "unread"; readonly isNarrowed: boolean }

const isOnDisk = (path: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fs.lstat(path).then(
      () => true,
      () => false
    )
  )

const isNarrowedBy = (config: Buffer | null): boolean =>
  config !== null && /sparsecheckout/i.test(config.toString("latin1"))

/** True for what says of itself that it is sparse, and for a `.git` that is no directory, which says nothing. */
const isNarrowed = (workTree: string): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    if ((yield* inAgentGit(workTree, [], () => Effect.succeed(true))) === null) return true
    const read = (folders: ReadonlyArray<string>, name: string) =>
      inAgentGit(workTree, folders, (directory) => readPart(directory, name, maxConfigBytes))
    if ((yield* read(["info"], "sparse-checkout")) !== null) return true
    return isNarrowedBy(yield* read([], "config")) || isNarrowedBy(yield* read([], "config.worktree"))
  }).pipe(Effect.orElseSucceed(() => true))

/** The settings with which git reads an index. Without them it expands a sparse one, for which it would need the objects of the agent. */
const settingsFor = (index: Buffer): ReadonlyArray<string> =>
  // The extension that a sparse index has. Only one of 32 bytes and the checksum come after it.
  index.subarray(-64).includes("sdir\0\0\0\0") ? [...sparseSettings, "index.sparse=true"] : []

const copied = <A>(run: () => Promise<A>) => onDisk("The agent's index could not be copied", run)

/** Copies the index and the shared parts of a split one into a git directory that has nothing else. Gives its settings; null where there is none. */
const copyIndex = (workTree: string, to: string) =>
  inAgentGit(workTree, [], (directory) =>
    Effect.gen(function* () {
      const bytes = yield* readPart(directory, "index", maxIndexBytes + 1)
      if (bytes === null) return null
      if (bytes.length > maxIndexBytes) return yield* new BeneathError({ reason: "failed", at: "index" })
      const settings = settingsFor(bytes)
      const patterns =
        settings.length === 0
          ? null
          : yield* inAgentGit(workTree, ["info"], (info) => readPart(info, "sparse-checkout", maxConfigBytes))
      yield* copied(async () => {
        for (const name of ["objects", "refs", "empty", "info"]) await fs.mkdir(join(to, name), { recursive: true })
        await fs.writeFile(join(to, "HEAD"), "ref: refs/heads/none\n")
        await fs.writeFile(join(to, "index"), bytes)
        if (patterns !== null) await fs.writeFile(join(to, "info", "sparse-checkout"), patterns)
      })
      const names = yield* Effect.promise(() => entriesIn(directory, maxNames))
      // A split index names the file that it is shared with.
      const shared = names
        .map(({ name }) => name.toString("latin1"))
        .filter(
          (name) =>
            /^sharedindex\.[0-9a-f]{40}$/.test(name) &&
            bytes.includes(Buffer.from(name.slice("sharedindex.".length), "hex"))
        )
      for (const name of shared.slice(0, maxShared)) {
        const part = yield* readPart(directory, name, maxIndexBytes)
        if (part !== null) yield* copied(() => fs.writeFile(join(to, name), part))
      }
      return settings
    })
  )

/** The entries of an ordinary index. Null for any other, which git has to read. */
const plainEntries = (workTree: string) =>
  Effect.gen(function* () {
    const bytes = yield* inAgentGit(workTree, [], (directory) => readPart(directory, "index", maxIndexBytes))
    const index = bytes === null ? null : yield* Effect.promise(() => readIndex(bytes))
    if (index === null || !(yield* Effect.promise(() => isSorted(index)))) return null
    return { get: (path: string) => indexEntry(index, path) }
  })

const readAgentIndex = (capturing: Capturing): Effect.Effect<Index> =>
  Effect.gen(function* () {
    const { folder, options, request } = capturing
    if (!(yield* isOnDisk(join(request.workTree, ".git")))) return { state: "none" } as const
    const plain = yield* plainEntries(request.workTree)
    if (plain !== null) return { state: "read", entries: plain } as const
    const copy = join(folder, "agent")
    const settings = yield* copyIndex(request.workTree, copy)
    if (settings === null) return { state: "unread", isNarrowed: yield* isNarrowed(request.workTree) } as const
    const { stderr, stdout } = yield* git({
      args: ["ls-files", "-z", "-v", "--stage", "--sparse"],
      gitDir: copy,
      workTree: join(copy, "empty"),
      indexFile: join(copy, "index"),
      settings,
      timeoutMs: options.localTimeoutMs
    })
    // git leaves out what it cannot read, and succeeds.
    if (/^(?:error|fatal):/m.test(stderr)) return yield* notUnderstood("ls-files")
    const entries = yield* readOutput("ls-files", () => new Map(records(stdout).map(parseTagged)))
    return { state: "read", entries } as const
  }).pipe(
    Effect.catchAll(() =>
      Effect.map(isNarrowed(capturing.request.workTree), (isNarrowed) => ({ state: "unread", isNarrowed }) as const)
    )
  )

const foldersOf = (path: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let at = path.indexOf("/"); at > 0; at = path.indexOf("/", at + 1)) found.push(path.slice(0, at + 1))
  return found
}

/** Those of the sparse folders whose tree is that of the base. */
const unchangedFolders = (
  { options, request: { base, gitDir } }: Capturing,
  folders: ReadonlyMap<string, string>
): Effect.Effect<ReadonlySet<string>, GitError> =>
  Effect.gen(function* () {
    const paths = [...folders.keys()].filter((path) => !path.includes("\n"))
    if (base === null || paths.length === 0) return new Set()
    const { stdout } = yield* git({
      args: ["cat-file", "--batch-check"],
      gitDir,
      stdin: Buffer.from(paths.map((path) => `${base}:${path.slice(0, -1)}\n`).join(""), "latin1"),
      timeoutMs: options.localTimeoutMs
    })
    const lines = stdout.toString("latin1").split("\n")
    return new Set(
      paths.filter((path, at) => {
        const id = lines[at]?.split(" ", 1)[0] ?? ""
        return isObjectId(id) && id === folders.get(path)
      })
    )
  })

/** A path of the base without a file: its entry in the base, and the one that the last capture has kept. */
export interface Missing {
  readonly base: TreeFile
  readonly cached: TreeFile | undefined
}

const isSame = (one: TreeFile, other: TreeFile | undefined): boolean => one.id === other?.id && one.mode === other.mode

const isSparseFolder = (entry: Entry | undefined): boolean => entry?.file.mode === folderMode && entry.isHidden

const hiddenIn = (capturing: Capturing, missing: ReadonlyMap<string, Missing>): Effect.Effect<Hidden, GitError> =>
  Effect.gen(function* () {
    if (missing.size === 0) return noneHidden
    const index = yield* readAgentIndex(capturing)
    if (index.state === "none" || (index.state === "unread" && !index.isNarrowed)) return noneHidden
    const kept = new Map<string, TreeFile>()
    const shown = new Set<string>()
    const doubtful: Array<string> = []
    const doubt = (path: string, { base, cached }: Missing) => {
      kept.set(path, cached ?? base)
      doubtful.push(path)
    }
    if (index.state === "unread") {
      for (const [path, known] of missing) doubt(path, known)
      return { kept, doubtful: doubtful.sort(), shown }
    }
    const below = new Map<string, string>()
    for (const [path, known] of missing) {
      const entry = index.entries.get(path)
      const folder =
        entry === undefined ? foldersOf(path).find((each) => isSparseFolder(index.entries.get(each))) : undefined
      if (folder !== undefined) below.set(path, folder)
      if (entry === undefined) continue
      const version = [known.base, known.cached].find((each) => isSame(entry.file, each))
      if (!entry.isHidden) shown.add(path)
      else if (version === undefined) doubt(path, known)
      else kept.set(path, version)
    }
    const folders = new Map([...below.values()].map((folder) => [folder, index.entries.get(folder)?.file.id ?? ""]))
    const unchanged = yield* unchangedFolders(capturing, folders)
    for (const [path, folder] of below) {
      const known = missing.get(path)
      if (known === undefined) continue
      if (unchanged.has(folder)) kept.set(path, known.base)
      else doubt(path, known)
    }
    return { kept, doubtful: doubtful.sort(), shown }
  })

/** Those of the paths at which a directory stands. A link on the way leads out of the work tree, and nothing is behind it. */
const replacedByFolders = (workTree: string, paths: Iterable<string>): Effect.Effect<ReadonlySet<string>> =>
  Effect.gen(function* () {
    const byFolder = new Map<string, Array<string>>()
    for (const path of paths) {
      const folder = path.slice(0, path.lastIndexOf("/") + 1)
      const list = byFolder.get(folder)
      if (list === undefined) byFolder.set(folder, [path])
      else list.push(path)
    }
    const found = new Set<string>()
    for (const [folder, list] of byFolder) {
      const names = folder.split("/").slice(0, -1)
      const entries = yield* inDirectory(
        workTree,
        names.map((name) => Buffer.from(name, "latin1")),
        { create: false },
        (directory) => attempt(folder, () => entriesIn(directory, Number.POSITIVE_INFINITY))
      ).pipe(Effect.orElseSucceed(() => []))
      const folders = new Set(
        entries.filter((entry) => entry.isDirectory).map((entry) => folder + entry.name.toString("latin1"))
      )
      for (const path of list) if (folders.has(path)) found.add(path)
    }
    return found
  })

/**
 * Reads of the agent's git which of the missing paths of the base it hides. A path at which a directory stands was removed: git takes it as that,
 * also where it ignores all that the directory holds.
 */
export const readHidden = (
  capturing: Capturing,
  missing: ReadonlyMap<string, Missing>
): Effect.Effect<Hidden, GitError> =>
  Effect.gen(function* () {
    const hidden = yield* hiddenIn(capturing, missing)
    if (hidden.kept.size === 0) return hidden
    const replaced = yield* replacedByFolders(capturing.request.workTree, hidden.kept.keys())
    if (replaced.size === 0) return hidden
    return {
      ...hidden,
      kept: new Map([...hidden.kept].filter(([path]) => !replaced.has(path))),
      doubtful: hidden.doubtful.filter((path) => !replaced.has(path))
    }
  })
