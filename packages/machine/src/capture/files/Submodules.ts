import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { attempt, type BeneathError, inDirectory } from "../../files/Beneath.js"
import { quotedName } from "../../repository/read/Changes.js"
import { type ModulePaths, modulePaths, modulePathsOf } from "../../repository/read/GitModules.js"
import { type Links, readLinks } from "../../repository/read/Links.js"
import { git } from "../../repository/run/GitCommand.js"
import { type GitError, onDisk } from "../../repository/run/GitError.js"
import { type AgentGit, type AgentGitFolder, inAgentGit, readAgentGit, readPart } from "../agent/AgentGit.js"
import { copyObjects } from "../agent/AgentObjects.js"
import { latinNames } from "../index/Capture.js"
import type { Capturing } from "../index/Capturing.js"

// Finds the commits of the submodules of a workspace. The repository of a submodule is the agent's: its files are read, and git never runs in it.

/** The submodules of a workspace, by path (latin1). */
export interface Submodules {
  /** The commit of each submodule that the workspace has. */
  readonly links: Links
  /** Submodules of before that are ordinary folders by now. */
  readonly dropped: ReadonlySet<string>
  /** Submodules that are new. */
  readonly added: ReadonlySet<string>
  /** Sentences about what the links do not tell. */
  readonly notes: ReadonlyArray<string>
}

const maxModulesBytes = 1024 * 1024
const maxNamed = 1_000
const maxPointerBytes = 4 * 1024

/** The finding at the path of a submodule. A repository whose git directory is out of reach has none. */
export type SubmodulePlace =
  | { readonly kind: "empty" | "folder" | "unreadable" }
  | { readonly kind: "elsewhere"; readonly isMissing: boolean }
  | { readonly kind: "repository"; readonly root: AgentGitFolder | null }

/** The git directory to which a `.git` file of a submodule leads; null outside the workspace. */
const folderOf = (workTree: string, path: string, pointer: string): AgentGitFolder | null => {
  const [, target] = /^gitdir: ([^\0\n]+)\n*$/.exec(pointer) ?? []
  if (target === undefined) return null
  const root = `${Buffer.from(workTree).toString("latin1")}/`
  if (target.startsWith("/") && !target.startsWith(root)) return null
  const names = target.startsWith("/") ? [] : path.split("/")
  for (const name of (target.startsWith("/") ? target.slice(root.length) : target).split("/")) {
    if (name === "..") {
      if (names.pop() === undefined) return null
    } else if (name !== "" && name !== ".") names.push(name)
  }
  return names.length === 0 ? null : names.map((name) => Buffer.from(name, "latin1"))
}

const repositoryAt = (workTree: string, path: string) =>
  inDirectory(workTree, latinNames(path), { create: false }, (directory) =>
    Effect.gen(function* () {
      const found = yield* attempt(".git", () => fs.lstat(directory.entry(".git")))
      if (found.isDirectory()) return [...latinNames(path), ".git"]
      const pointer = found.isFile() ? yield* readPart(directory, ".git", maxPointerBytes) : null
      return folderOf(workTree, path, pointer?.toString("latin1") ?? "")
    })
  )

/** Looks at the path of a submodule. */
export const submodulePlace = (workTree: string, path: string): Effect.Effect<SubmodulePlace> =>
  inDirectory(workTree, latinNames(path), { create: false }, (directory) =>
    attempt(path, () => fs.readdir(directory.entry("."), { encoding: "latin1" }))
  ).pipe(
    Effect.flatMap((names): Effect.Effect<SubmodulePlace, BeneathError> => {
      if (!names.includes(".git")) return Effect.succeed({ kind: names.length === 0 ? "empty" : "folder" })
      return Effect.map(repositoryAt(workTree, path), (root) => ({ kind: "repository", root }))
    }),
    Effect.catchAll(({ reason }) => {
      const isElsewhere = reason === "missing" || reason === "link" || reason === "not_a_directory"
      return Effect.succeed<SubmodulePlace>(
        isElsewhere ? { kind: "elsewhere", isMissing: reason === "missing" } : { kind: "unreadable" }
      )
    })
  )

/** Makes a git directory with the objects of a submodule, and no setting of it. Null when they are more than is copied. */
const viewOf = ({ folder, request }: Capturing, root: AgentGitFolder, name: string) =>
  Effect.gen(function* () {
    const view = join(folder, name)
    const objects = join(view, "objects")
    yield* onDisk("The objects of a submodule could not be copied", async () => {
      await fs.mkdir(objects, { recursive: true })
      await fs.mkdir(join(view, "refs"))
    })
    if (!(yield* copyObjects(request.workTree, view, objects, root))) return null
    const shallow = yield* inAgentGit(
      request.workTree,
      [],
      (directory) => readPart(directory, "shallow", maxModulesBytes),
      root
    )
    yield* onDisk("The objects of a submodule could not be copied", async () => {
      if (shallow !== null) await fs.writeFile(join(view, "shallow"), shallow)
      await fs.writeFile(join(view, "HEAD"), "ref: refs/heads/none\n")
    })
    return view
  })

/** True when a branch of a remote contains the commit, as the repository of the submodule last saw its remotes. Null when that cannot be told. */
const isPublished = (capturing: Capturing, root: AgentGitFolder, { head, remotes }: AgentGit, name: string) =>
  Effect.gen(function* () {
    if (head === null || remotes.length === 0) return false
    if (remotes.includes(head)) return true
    const view = yield* viewOf(capturing, root, name)
    if (view === null) return null
    const run = (args: ReadonlyArray<string>, lines: ReadonlyArray<string>) =>
      git({
        args,
        gitDir: view,
        stdin: Buffer.from(lines.map((line) => `${line}\n`).join("")),
        timeoutMs: capturing.options.localTimeoutMs
      }).pipe(Effect.map(({ stdout }) => stdout.toString("latin1")))
    const typed = yield* run(["cat-file", "--batch-check=%(objectname) %(objecttype)"], [head, ...new Set(remotes)])
    const present = typed
      .split("\n")
      .flatMap((line) => (/^([0-9a-f]{40}) commit$/.test(line) ? [line.slice(0, 40)] : []))
    if (!present.includes(head)) return null
    const tips = present.filter((id) => id !== head).map((id) => `^${id}`)
    return (yield* run(["rev-list", "--max-count=1", "--stdin"], [head, ...tips])) === ""
  }).pipe(Effect.catchAll(() => Effect.succeed(null)))

/** The commit that a repository gives to its submodule, or the sentence that says why it gives none. */
type Head = { readonly id: string } | { readonly refused: string }

const shortId = (id: string): string => id.slice(0, 12)

const headOf = (capturing: Capturing, root: AgentGitFolder | null, known: string | undefined, name: string) =>
  Effect.gen(function* (): Effect.fn.Return<Head, BeneathError> {
    const agent = root === null ? null : yield* readAgentGit(capturing.request.workTree, root)
    if (root === null || agent === null || agent.head === null) return { refused: "its commit could not be read" }
    if (agent.head === known) return { id: known }
    if (agent.head.length !== 40) return { refused: "its repository has another object format" }
    const published = yield* isPublished(capturing, root, agent, name)
    if (published === true) return { id: agent.head }
    return {
      refused:
        published === null
          ? `its remote may lack the commit ${shortId(agent.head)}, because its repository could not be read in full`
          : `no branch of its remote has the commit ${shortId(agent.head)}. Push that commit from the submodule, then capture again`
    }
  }).pipe(Effect.catchAll((): Effect.Effect<Head> => Effect.succeed({ refused: "its commit could not be read" })))

/** The submodules that the workspace names. Null where its `.gitmodules` cannot be read. */
const namedIn = ({ options, request }: Capturing): Effect.Effect<ModulePaths | null, GitError> =>
  inDirectory(request.workTree, [], { create: false }, (directory) =>
    readPart(directory, ".gitmodules", maxModulesBytes + 1)
  ).pipe(
    Effect.catchTag("BeneathError", () => Effect.succeed(undefined)),
    Effect.flatMap((text) => {
      if (text === undefined || (text !== null && text.length > maxModulesBytes)) return Effect.succeed(null)
      return text === null ? Effect.succeed(new Set<string>()) : modulePaths(options, request.gitDir, text)
    })
  )

/** The sentence about the folder of a submodule, whose files no changeset holds. */
const filesNote = (path: string): string =>
  `${quotedName(path)} is a submodule: changes of files in it are not part of the changeset`

interface Look {
  readonly path: string
  readonly known: string | undefined
  readonly place: SubmodulePlace
  readonly isNamed: boolean | null
  /** The base named it, where the workspace may not any more. */
  readonly wasNamed: boolean
}

type Verdict = { readonly id?: string; readonly dropped?: true; readonly note?: string }

const judge = (
  capturing: Capturing,
  { isNamed, known, path, place, wasNamed }: Look,
  at: number
): Effect.Effect<Verdict> => {
  const kept = known === undefined ? {} : { id: known }
  switch (place.kind) {
    case "elsewhere": {
      const { isOutside, removed } = capturing.cone
      return Effect.succeed(place.isMissing && isOutside(path) && !removed.has(path) ? kept : {})
    }
    case "unreadable":
      return Effect.succeed({ ...kept, note: `${quotedName(path)} could not be read` })
    case "empty":
    case "folder":
      if (known === undefined) return Effect.succeed({})
      if (isNamed === false && wasNamed) return Effect.succeed({ dropped: true })
      return Effect.succeed(place.kind === "empty" ? kept : { ...kept, note: filesNote(path) })
    case "repository":
      return Effect.map(headOf(capturing, place.root, known, `submodule-${at}`), (head) => {
        if ("id" in head) return { id: head.id, note: filesNote(path) }
        const end = known === undefined ? "it is left out" : `the changeset keeps the commit ${shortId(known)}`
        return { ...kept, note: `${quotedName(path)} is a submodule, and ${end}: ${head.refused}` }
      })
  }
}

/** The submodules of a workspace whose base has these. A workspace without any costs one look at `.gitmodules`. */
export const submodulesOf = (capturing: Capturing, ofBase: Links): Effect.Effect<Submodules, GitError> =>
  Effect.gen(function* () {
    const { base, gitDir, workTree } = capturing.request
    const known: Links = new Map([...ofBase, ...(yield* readLinks(gitDir))])
    const named = yield* namedIn(capturing)
    const paths = [...new Set([...known.keys(), ...[...(named ?? [])].slice(0, maxNamed)])]
    const places = yield* Effect.forEach(paths, (path) => submodulePlace(workTree, path), { concurrency: 8 })
    const isOrdinary = ({ kind }: SubmodulePlace) => kind === "empty" || kind === "folder"
    const before =
      places.some(isOrdinary) && base !== null && named !== null
        ? yield* modulePathsOf(capturing.options, gitDir, base)
        : null
    const links = new Map<string, string>()
    const dropped = new Set<string>()
    const notes: Array<string> = []
    for (const [at, path] of paths.entries()) {
      const look: Look = {
        path,
        known: known.get(path),
        place: places[at] ?? { kind: "unreadable" },
        isNamed: named === null ? null : named.has(path),
        wasNamed: !ofBase.has(path) || before?.has(path) === true
      }
      const { dropped: isDropped, id, note } = yield* judge(capturing, look, at)
      if (id !== undefined) links.set(path, id)
      if (isDropped === true) dropped.add(path)
      if (note !== undefined) notes.push(note)
    }
    const added = new Set([...links.keys()].filter((path) => !known.has(path)))
    return { links, dropped, added, notes }
  })
