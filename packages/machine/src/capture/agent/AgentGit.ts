import * as fs from "node:fs/promises"
import { Effect } from "effect"
import {
  attempt,
  BeneathError,
  inDirectory,
  type OpenDirectory,
  openIn,
  readUpTo,
  withFile
} from "../../files/Beneath.js"
import { bytesText, pathText } from "../../files/NameText.js"

// Reads the `.git` of an agent as files, because git would obey its settings. Each file is opened below the workspace, never through a link, and
// read up to a bound.

/** A ref of the agent: its name as text, and the object that it names. */
export interface AgentRef {
  readonly name: string
  readonly id: string
}

/** The state of an agent's repository. Names are text for people. */
export interface AgentGit {
  /** The branch that is checked out; null where HEAD is detached. */
  readonly branch: string | null
  /** The commit of HEAD; null before the first commit. */
  readonly head: string | null
  /** Branches, and tags that stand in files of their own. */
  readonly refs: ReadonlyArray<AgentRef>
  /** Refs of remotes, which hold the work of others. */
  readonly remotes: ReadonlyArray<string>
  /** The entries of the stash, newest first. */
  readonly stashes: ReadonlyArray<string>
  /** Operations that wait for somebody to go on with them, as in "a rebase". */
  readonly unfinished: ReadonlyArray<string>
  /** The heads of further worktrees. */
  readonly worktrees: ReadonlyArray<{ readonly name: string; readonly path: string; readonly head: string }>
}

const maxRefBytes = 4 * 1024
const maxPackedBytes = 32 * 1024 * 1024
const maxStashBytes = 256 * 1024
const maxStashes = 20
const maxRefs = 5_000
const maxDepth = 20

const objectId = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

/** Files and folders that git keeps while an operation waits. */
const operations: ReadonlyArray<readonly [path: string, what: string]> = [
  ["rebase-merge", "a rebase"],
  ["rebase-apply", "a rebase or an application of patches"],
  ["MERGE_HEAD", "a merge"],
  ["CHERRY_PICK_HEAD", "a cherry-pick"],
  ["REVERT_HEAD", "a revert"],
  ["BISECT_LOG", "a bisection"]
]

const isAbsent = ({ reason }: BeneathError): boolean => reason === "missing" || reason === "not_a_directory"

/** True for what git itself never puts in the place of a ref. */
const isNoRef = ({ reason }: BeneathError): boolean => reason === "link" || reason === "not_a_file"

/** The beginning of a regular file of an open directory; null where there is none. */
export const readPart = (
  directory: OpenDirectory,
  name: string | Buffer,
  maxBytes: number
): Effect.Effect<Buffer | null, BeneathError> =>
  withFile(directory, name, (handle, { size }) => readUpTo(handle, size, maxBytes)).pipe(
    Effect.catchIf(isAbsent, () => Effect.succeed(null))
  )

/** The names that lead from the work tree to a git directory of the agent: `.git`, or that of a submodule. */
export type AgentGitFolder = ReadonlyArray<string | Buffer>

const ofWorkTree: AgentGitFolder = [".git"]

/** Runs `use` with a directory of the agent's `.git`; null where there is none. */
export const inAgentGit = <A, E>(
  workTree: string,
  names: ReadonlyArray<string | Buffer>,
  use: (directory: OpenDirectory) => Effect.Effect<A, E>,
  root = ofWorkTree
): Effect.Effect<A | null, E | BeneathError> =>
  inDirectory(workTree, [...root, ...names], { create: false }, use).pipe(
    Effect.catchAll((error) =>
      error instanceof BeneathError && isAbsent(error) ? Effect.succeed(null) : Effect.fail(error)
    )
  )

/** The names in an open directory, at most so many. */
export const entriesIn = async (directory: OpenDirectory, most: number) => {
  const found: Array<{ readonly name: Buffer; readonly isDirectory: boolean }> = []
  for await (const entry of await fs.opendir(directory.entry("."), { encoding: "latin1" })) {
    if (found.length === most) break
    found.push({ name: Buffer.from(entry.name, "latin1"), isDirectory: entry.isDirectory() })
  }
  return found
}

/** The agent's work tree, and which of its git directories is read. */
interface Place {
  readonly workTree: string
  readonly root: AgentGitFolder
}

const textIn = ({ root, workTree }: Place, folder: ReadonlyArray<string | Buffer>, name: string, maxBytes: number) =>
  Effect.map(
    inAgentGit(workTree, folder, (directory) => readPart(directory, name, maxBytes), root),
    (bytes) => bytes?.toString("latin1") ?? null
  )

const shown = (latin1: string): string => pathText(Buffer.from(latin1, "latin1"))

/** The refs below a folder, which stand in files of their own. */
const looseRefs = ({ root, workTree }: Place, folder: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const found: Array<readonly [name: string, id: string]> = []
    const visit = (directory: OpenDirectory, prefix: string, depth: number): Effect.Effect<void, BeneathError> =>
      Effect.gen(function* () {
        const entries = yield* attempt(prefix, () => entriesIn(directory, maxRefs))
        for (const { isDirectory, name } of entries) {
          if (found.length >= maxRefs) return
          const path = `${prefix}/${name.toString("latin1")}`
          if (isDirectory && depth < maxDepth)
            yield* Effect.acquireUseRelease(
              attempt(name, () => openIn(directory, name)),
              (below) => visit(below, path, depth + 1),
              ({ handle }) => Effect.promise(() => handle.close())
            )
          else if (!isDirectory) {
            const bytes = yield* readPart(directory, name, maxRefBytes).pipe(
              Effect.catchIf(isNoRef, () => Effect.succeed(null))
            )
            const id = bytes?.toString("latin1").trim() ?? ""
            if (objectId.test(id)) found.push([path, id])
          }
        }
      })
    yield* inAgentGit(workTree, folder, (directory) => visit(directory, folder.join("/"), 0), root)
    return found
  })

const packedRefs = (text: string): ReadonlyArray<readonly [name: string, id: string]> =>
  text.split("\n").flatMap((line) => {
    const [id = "", name = ""] = line.split(" ")
    return objectId.test(id) && name.startsWith("refs/") ? [[name, id] as const] : []
  })

const stashesOf = (log: string | null, newest: string | undefined): ReadonlyArray<string> => {
  const ids = (log ?? "").split("\n").flatMap((line) => {
    const id = line.split(" ", 2)[1] ?? ""
    return objectId.test(id) ? [id] : []
  })
  return newest === undefined ? [] : [...new Set([newest, ...ids.reverse()])].slice(0, maxStashes)
}

const worktreesOf = (place: Place) =>
  Effect.gen(function* () {
    const names = yield* inAgentGit(
      place.workTree,
      ["worktrees"],
      (directory) => attempt("worktrees", () => entriesIn(directory, maxStashes)),
      place.root
    )
    return yield* Effect.forEach(names ?? [], ({ name }) =>
      Effect.gen(function* () {
        const at = (yield* textIn(place, ["worktrees", name], "gitdir", maxRefBytes)) ?? ""
        const head = (yield* textIn(place, ["worktrees", name], "HEAD", maxRefBytes)) ?? ""
        return {
          name: bytesText(name),
          path: shown(at.trim().replace(/\/\.git$/, "")),
          head: head.trim()
        }
      })
    )
  })

/** Reads the repository of an agent, or that of one of its submodules; null where there is none. */
export const readAgentGit = (workTree: string, root = ofWorkTree): Effect.Effect<AgentGit | null, BeneathError> =>
  Effect.gen(function* () {
    const place: Place = { workTree, root }
    const head = (yield* textIn(place, [], "HEAD", maxRefBytes))?.trim()
    if (head === undefined) return null
    const packed = packedRefs((yield* textIn(place, [], "packed-refs", maxPackedBytes)) ?? "")
    const heads = yield* looseRefs(place, ["refs", "heads"])
    const tags = yield* looseRefs(place, ["refs", "tags"])
    const isOf =
      (kind: string) =>
      ([name]: readonly [string, string]) =>
        name.startsWith(`refs/${kind}/`)
    const branches = new Map([...packed.filter(isOf("heads")), ...heads])
    const remotes = [...packed.filter(isOf("remotes")), ...(yield* looseRefs(place, ["refs", "remotes"]))]
    const stash = (yield* textIn(place, ["refs"], "stash", maxRefBytes))?.trim()
    const log = stash === undefined ? null : yield* textIn(place, ["logs", "refs"], "stash", maxStashBytes)
    const names = yield* inAgentGit(
      workTree,
      [],
      (directory) => attempt(".git", () => entriesIn(directory, maxRefs)),
      root
    )
    const present = new Set((names ?? []).map(({ name }) => name.toString("latin1")))
    const on = /^ref: (.+)$/.exec(head)?.[1]
    return {
      branch: on === undefined ? null : shown(on.replace(/^refs\/heads\//, "")),
      head: on === undefined ? (objectId.test(head) ? head : null) : (branches.get(on) ?? null),
      refs: [...branches, ...tags]
        .filter(([name]) => name !== on)
        .map(([name, id]) => ({ name: shown(name.replace(/^refs\/(?:heads|tags)\//, "")), id })),
      remotes: remotes.map(([, id]) => id),
      stashes: stashesOf(log, stash !== undefined && objectId.test(stash) ? stash : undefined),
      unfinished: operations.flatMap(([path, what]) => (present.has(path) ? [what] : [])),
      worktrees: yield* worktreesOf(place)
    }
  })
