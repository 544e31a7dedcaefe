import * as fs from "node:fs/promises"
import { join } from "node:path"
import { once } from "@reins/base/base/Once"
import { Effect } from "effect"
import type { BeneathError } from "../files/Beneath.js"
import { quotedName, type RawChange, readRaw } from "../repository/read/Changes.js"
import { gitlink } from "../repository/read/GitModules.js"
import { emptyTree, git } from "../repository/run/GitCommand.js"
import { GitError, onDisk, readOutput } from "../repository/run/GitError.js"
import type { GitOptionsShape } from "../repository/run/GitOptions.js"
import { type AgentGit, inAgentGit, readAgentGit, readPart } from "./agent/AgentGit.js"
import { copyObjects } from "./agent/AgentObjects.js"
import { keptBaseIndex } from "./files/BaseIndex.js"
import { readBaseline } from "./index/Baseline.js"
import { latinNames } from "./index/Capture.js"
import { type Capturing, withCapturing } from "./index/Capturing.js"
import { hasEntriesOf, type IndexFile, readIndex } from "./index/IndexFile.js"

// Finds work that an agent has left in its own git and that its working tree does not show. Objects and the index are copied into a folder of the
// service, and git reads them there: it never sees the agent's settings, hooks, links or references to other repositories.

/** A capture whose workspace may have more work in its git. */
export interface LeftRequest {
  readonly gitDir: string
  readonly workTree: string
  readonly base: string | null
  /** The tree that was captured. */
  readonly tree: string
  /** The index of the base, where the capture has read it. */
  readonly index?: IndexFile
}

const maxIndexBytes = 128 * 1024 * 1024
const maxTips = 50
const maxCommits = 1_000
const namedAtMost = 5
const maxSentences = 50
const maxRemoved = 1_000
const timeoutMs = 20_000

interface Look extends Capturing {
  readonly left: LeftRequest
  readonly env: Readonly<Record<string, string>>
  /** A look that sees the agent's own objects too; null when they are more than is copied. */
  readonly withObjects: Effect.Effect<Look | null, BeneathError | GitError>
}

const runPlumbing = (look: Look, args: ReadonlyArray<string>, indexFile?: string) =>
  git({
    args,
    gitDir: look.left.gitDir,
    env: look.env,
    ...(indexFile !== undefined && { indexFile }),
    timeoutMs
  }).pipe(Effect.map(({ stdout }) => stdout))

const rawFlags = ["-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=all"]

const changesBetween = (look: Look, from: string, to: string) =>
  Effect.flatMap(runPlumbing(look, ["diff-tree", "-r", ...rawFlags, from, to]), (output) =>
    readRaw("diff-tree", output)
  )

const listOf = (paths: ReadonlyArray<string>): string => {
  const named = paths.slice(0, namedAtMost).map(quotedName).join(", ")
  return paths.length > namedAtMost ? `${named} and ${paths.length - namedAtMost} more` : named
}

const countOf = (number: number, noun: string): string =>
  number > maxCommits ? `more than ${maxCommits} ${noun}s` : `${number} ${noun}${number === 1 ? "" : "s"}`

const lookWith = (capturing: Capturing, left: LeftRequest): Effect.Effect<Look> =>
  Effect.map(
    once(
      Effect.gen(function* () {
        const objects = join(capturing.folder, "objects")
        yield* onDisk("The agent's objects could not be copied", () => fs.mkdir(objects))
        if (!(yield* copyObjects(left.workTree, left.gitDir, objects))) return null
        const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(objects) }
        const look: Look = { ...capturing, left, env, withObjects: Effect.sync(() => look) }
        return look
      })
    ),
    (withObjects) => ({ ...capturing, left, env: {}, withObjects })
  )

/** The work of a commit that neither the base nor the captured tree has: paths with contents of their own. */
const pathsOnlyIn = (look: Look, commit: string) =>
  Effect.gen(function* () {
    const sinceBase = new Set(
      (yield* changesBetween(look, look.left.base ?? emptyTree, commit)).map(({ path }) => path)
    )
    if (sinceBase.size === 0) return []
    return (yield* changesBetween(look, look.left.tree, commit))
      .filter(({ letter, newMode, path }) => letter !== "D" && newMode !== gitlink && sinceBase.has(path))
      .map(({ path }) => path)
  })

/** The number of commits that lead to a tip, and not to what the session began with, to the agent's own HEAD or to a remote. */
const commitsOf = (look: Look, tip: string, others: ReadonlyArray<string>) =>
  git({
    args: ["rev-list", "--count", `--max-count=${maxCommits + 1}`, "--stdin", "--not", "--all"],
    gitDir: look.left.gitDir,
    env: look.env,
    stdin: Buffer.from(`${[tip, ...[...new Set(others)].map((id) => `^${id}`)].join("\n")}\n`),
    timeoutMs
  }).pipe(
    Effect.flatMap(({ stdout }) =>
      readOutput("rev-list", () => {
        const [, count] = /^(\d+)\n$/.exec(stdout.toString("latin1")) ?? []
        if (count === undefined) throw new Error("not a number")
        return Number(count)
      })
    )
  )

/** A place in the agent's git that leads to commits. */
interface Tip {
  readonly id: string
  /** The subject of a sentence about its commits. */
  readonly named: string
  /** A stash is told as one piece of work, and a detached HEAD also where the working tree has all of its files. */
  readonly kind: "branch" | "stash" | "worktree" | "detached"
}

const tipsOf = ({ branch, head, refs, stashes, worktrees }: AgentGit): ReadonlyArray<Tip> => [
  ...(branch === null && head !== null ? [{ id: head, named: "The detached HEAD", kind: "detached" as const }] : []),
  ...stashes.map((id, at) => ({ id, named: `The stash entry ${at}`, kind: "stash" as const })),
  ...refs.map(({ id, name }) => ({ id, named: `The branch or tag ${JSON.stringify(name)}`, kind: "branch" as const })),
  ...worktrees.flatMap(({ head, name }) =>
    /^[0-9a-f]{40}$/.test(head)
      ? [{ id: head, named: `The worktree ${JSON.stringify(name)}`, kind: "worktree" as const }]
      : []
  )
]

const unread = (what: string): string =>
  `${what} of the agent's git could not be read, so work that is only there is not part of the changeset`

const sentenceAbout = (
  look: Look,
  tip: Tip,
  agent: AgentGit,
  present: ReadonlySet<string>
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const known = [...agent.remotes, ...(tip.kind === "detached" ? agent.refs.map(({ id }) => id) : [])]
    const own = tip.kind === "detached" || agent.head === null ? known : [...known, agent.head]
    const others = own.filter((id) => present.has(id))
    const commits = yield* commitsOf(look, tip.id, others)
    if (commits === 0) return []
    const paths = yield* pathsOnlyIn(look, tip.id)
    if (tip.kind === "detached")
      return [
        `${tip.named} of the agent's git has ${countOf(commits, "commit")} that no branch has: a delivery brings the files of the working tree, not these commits`
      ]
    // The third parent of a stash holds the files that git did not track.
    const apart = tip.kind === "stash" ? yield* Effect.orElseSucceed(pathsOnlyIn(look, `${tip.id}^3`), () => []) : []
    const all = [...new Set([...paths, ...apart])].sort()
    if (all.length === 0) return []
    const with_ = tip.kind === "stash" ? "holds" : `has ${countOf(commits, "commit")} with`
    return [`${tip.named} of the agent's git ${with_} work that is not part of the changeset: ${listOf(all)}`]
  }).pipe(Effect.catchAll(() => Effect.succeed([unread(tip.named)])))

/** Those of the objects that git can find. A remote's may be in packs that were not copied. */
const presentIn = (look: Look, ids: ReadonlyArray<string>) =>
  git({
    args: ["cat-file", "--batch-check=%(objectname) %(objecttype)"],
    gitDir: look.left.gitDir,
    env: look.env,
    stdin: Buffer.from([...new Set(ids)].map((id) => `${id}\n`).join("")),
    timeoutMs
  }).pipe(
    Effect.map(({ stdout }) => {
      const lines = stdout.toString("latin1").split("\n")
      return new Set(
        lines.flatMap((line) => (/^[0-9a-f]+ (?:commit|tag)$/.test(line) ? [line.split(" ")[0] ?? ""] : []))
      )
    })
  )

/** Sentences about commits that the captured tree does not show. */
const aboutCommits = (look: Look, agent: AgentGit): Effect.Effect<ReadonlyArray<string>, BeneathError | GitError> =>
  Effect.gen(function* () {
    const tips = tipsOf(agent).filter(({ id }) => id !== look.left.base)
    const fresh = new Map([...tips].reverse().map((tip) => [tip.id, tip]))
    if (fresh.size === 0) return []
    const inView = yield* look.withObjects
    if (inView === null) return [`${unread("The objects")}: they are more than Reins looks at`]
    const all = [...fresh.values()]
    const present = yield* presentIn(inView, [
      ...agent.remotes,
      ...agent.refs.map(({ id }) => id),
      ...(agent.head === null ? [] : [agent.head])
    ])
    const said = yield* Effect.forEach(all.slice(0, maxTips), (tip) => sentenceAbout(inView, tip, agent, present))
    const more =
      all.length > maxTips ? [`${all.length - maxTips} more branches of the agent's git were not looked at`] : []
    return [...said.flat(), ...more]
  })

const isOnDisk = (workTree: string, latin1: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fs.lstat(Buffer.concat([Buffer.from(`${workTree}/`), ...joined(latinNames(latin1))])).then(
      () => true,
      () => false
    )
  )

const joined = (names: ReadonlyArray<Buffer>): ReadonlyArray<Buffer> =>
  names.flatMap((name, at) => (at === 0 ? [name] : [Buffer.from("/"), name]))

const idsOf = (changes: ReadonlyArray<RawChange>): ReadonlyMap<string, RawChange> =>
  new Map(changes.map((change) => [change.path, change]))

/** Sentences about files of the index that the captured tree does not have, or has otherwise. */
const aboutIndex = (look: Look, agent: AgentGit): Effect.Effect<ReadonlyArray<string>, BeneathError | GitError> =>
  Effect.gen(function* () {
    const index = join(look.folder, "index")
    const bytes = yield* inAgentGit(look.left.workTree, [], (directory) =>
      readPart(directory, "index", maxIndexBytes + 1)
    )
    if (bytes === null) return []
    if (bytes.length > maxIndexBytes) return [`${unread("The index")}: it is larger than ${maxIndexBytes} bytes`]
    if (yield* isUntouched(look, bytes)) return []
    yield* onDisk("The agent's index could not be copied", () => fs.writeFile(index, bytes))
    const against = (tree: string) =>
      runPlumbing(look, ["diff-index", "--cached", ...rawFlags, tree], index).pipe(
        Effect.flatMap((output) => readRaw("diff-index", output)),
        Effect.map((changes) => changes.filter(({ letter, newMode }) => letter !== "U" && newMode !== gitlink))
      )
    const fromBase = yield* against(look.left.base ?? emptyTree)
    if (fromBase.length === 0) return []
    const fromTree = idsOf(yield* against(look.left.tree))
    const staged = fromBase.filter(({ letter }) => letter !== "D")
    const removed = yield* removedUnseen(look, fromBase, fromTree)
    const about = removed.length === 0 ? [] : [`${removedWords}: ${listOf(removed)}`]
    if (staged.length === 0) return about
    const captured = new Map([...fromTree].filter(([, { letter }]) => letter !== "D"))
    const baseline = yield* readBaseline(look.left.gitDir)
    const differing = staged.filter(({ newId, path }) => captured.has(path) && baseline.get(path)?.id !== newId)
    if (differing.length === 0) return about
    const committed = yield* committedIn(look, agent, differing)
    const groups = { ignored: [] as string[], gone: [] as string[], other: [] as string[] }
    for (const { path } of differing) {
      const isCaptured = captured.get(path)?.letter !== "A"
      if (isCaptured) {
        if (!committed.has(path)) groups.other.push(path)
      } else if (yield* isOnDisk(look.left.workTree, path)) groups.ignored.push(path)
      else if (!committed.has(path)) groups.gone.push(path)
    }
    const more = [
      [groups.ignored, "The agent's git tracks files that the ignore rules leave out of the changeset"],
      [groups.gone, "The index of the agent's git holds files that the working tree does not have"],
      [groups.other, "The index of the agent's git holds other versions than the working tree and its commits"]
    ].flatMap(([paths, words]) => (Array.isArray(paths) && paths.length > 0 ? [`${words}: ${listOf(paths)}`] : []))
    return [...about, ...more]
  })

/** True for an index with the entries of the base. Most agents put nothing into theirs, and git need not look at it then. */
const isUntouched = ({ left }: Look, bytes: Buffer): Effect.Effect<boolean, GitError> =>
  Effect.gen(function* () {
    const base = left.index ?? (yield* keptBaseIndex(left.gitDir, left.base))
    const index = base === null ? null : yield* Effect.promise(() => readIndex(bytes))
    return base !== null && index !== null && (yield* Effect.promise(() => hasEntriesOf(index, base)))
  })

const removedWords = "The agent's git has removed files outside of the sparse folders, which the changeset keeps"

/** The paths of the base that the agent's git has removed, that have no file, and that the captured tree keeps all the same. */
const removedUnseen = (
  { left: { workTree } }: Look,
  fromBase: ReadonlyArray<RawChange>,
  fromTree: ReadonlyMap<string, RawChange>
) => {
  const kept = fromBase.filter(({ letter, path }) => letter === "D" && fromTree.get(path)?.letter === "D")
  return Effect.map(
    Effect.filter(kept.slice(0, maxRemoved), ({ path }) => Effect.map(isOnDisk(workTree, path), (isThere) => !isThere)),
    (gone) => gone.map(({ path }) => path)
  )
}

/** Those of the paths that the commit of the agent's HEAD has as the index has them. None where that commit cannot be read. */
const committedIn = (look: Look, { head }: AgentGit, entries: ReadonlyArray<RawChange>) =>
  Effect.gen(function* () {
    if (head === null || head === look.left.base) return new Set<string>()
    const inView = yield* look.withObjects
    if (inView === null) return new Set<string>()
    const committed = idsOf(yield* changesBetween(inView, look.left.base ?? emptyTree, head))
    return new Set(
      entries.flatMap(({ newId, newMode, path }) => {
        const found = committed.get(path)
        return found?.newId === newId && found.newMode === newMode ? [path] : []
      })
    )
  }).pipe(Effect.orElseSucceed(() => new Set<string>()))

const aboutState = ({ unfinished, worktrees }: AgentGit): ReadonlyArray<string> => [
  ...unfinished.map((what) => `The agent's git is in the middle of ${what}: its end is not part of the changeset`),
  ...worktrees.map(
    ({ name, path }) =>
      `The agent's git has the worktree ${JSON.stringify(name)} at ${JSON.stringify(path)}: files that are only there are not part of the changeset`
  )
]

/**
 * Sentences about work that is in the agent's git and not in the captured tree. Reading runs nothing of the repository and follows no link. It has
 * bounds of size and time, and says when one of them was met. It never fails a capture.
 */
export const leftInGit = (options: GitOptionsShape, left: LeftRequest): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const agent = yield* readAgentGit(left.workTree)
    if (agent === null) return []
    return yield* withCapturing(options, left, false, (capturing) =>
      Effect.gen(function* () {
        const look = yield* lookWith(capturing, left)
        const failed = (what: string) => () => Effect.succeed([unread(what)])
        const said = yield* Effect.all([
          aboutCommits(look, agent).pipe(Effect.catchAll(failed("The commits"))),
          aboutIndex(look, agent).pipe(Effect.catchAll(failed("The index")))
        ])
        return [...aboutState(agent), ...said.flat()].slice(0, maxSentences)
      })
    )
  }).pipe(
    Effect.timeoutFail({
      duration: timeoutMs,
      onTimeout: () => new GitError({ kind: "timeout", message: "The agent's git was not read in time." })
    }),
    Effect.catchAll(() => Effect.succeed([unread("A part")]))
  )
