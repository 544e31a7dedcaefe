import * as fs from "node:fs/promises"
import { join } from "node:path"
import type { Effect } from "effect"
import { type GitError, onDisk } from "./GitError.js"

// Knows which paths a sparse workspace holds. The rules are those of git's cone mode: the root, the folders with all below them, and the files
// directly in the folders above them.

/** The part of a repository that a workspace holds. Paths are latin1. */
export interface Cone {
  /** True where the workspace holds a part only. */
  readonly isSparse: boolean
  /** The settings with which git heeds the part. */
  readonly settings: ReadonlyArray<string>
  /** True for a file that the checkout leaves out. One that is there all the same belongs to the workspace. */
  readonly isOutside: (path: string) => boolean
  /** Paths outside that an applied change has removed. Any other path outside that has no file is unchanged. */
  readonly removed: ReadonlySet<string>
}

/** The cone of a workspace that holds everything. */
export const whole: Cone = { isSparse: false, settings: [], isOutside: () => false, removed: new Set() }

/** The settings of a repository whose `info/sparse-checkout` holds in cone mode. */
export const sparseSettings = ["core.sparseCheckout=true", "core.sparseCheckoutCone=true"]

const foldersAbove = (path: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let at = path.indexOf("/"); at > 0; at = path.indexOf("/", at + 1)) found.push(path.slice(0, at))
  return found
}

/** Those of the folders that are below no other one, in the order of their bytes. */
const topmost = (folders: ReadonlyArray<string>): ReadonlyArray<string> => {
  const all = new Set(folders)
  return [...all].filter((folder) => !foldersAbove(folder).some((above) => all.has(above))).sort()
}

const escaped = (path: string): string => path.replace(/[*?[\\]/g, "\\$&")

/** The text of `info/sparse-checkout`, as `git sparse-checkout set` writes it. */
export const patternsOf = (folders: ReadonlyArray<string>): string => {
  const tops = topmost(folders)
  const above = [...new Set(tops.flatMap(foldersAbove))].sort()
  const lines = [
    "/*",
    "!/*/",
    ...above.flatMap((folder) => [`/${escaped(folder)}/`, `!/${escaped(folder)}/*/`]),
    ...tops.map((folder) => `/${escaped(folder)}/`)
  ]
  return lines.map((line) => `${line}\n`).join("")
}

/** Tells for the paths (latin1) of a repository if the folders (text) leave them out. */
export const outsideOf = (folders: ReadonlyArray<string>): ((path: string) => boolean) => {
  const inside = new Set(folders.map((folder) => Buffer.from(folder).toString("latin1")))
  const above = new Set([...inside].flatMap(foldersAbove))
  const known = new Map<string, boolean>([["", false]])
  return (path) => {
    const folder = path.slice(0, Math.max(path.lastIndexOf("/"), 0))
    const found = known.get(folder)
    if (found !== undefined) return found
    const isInside = above.has(folder) || inside.has(folder) || foldersAbove(folder).some((each) => inside.has(each))
    known.set(folder, !isInside)
    return !isInside
  }
}

/** The name of the list of folders in a trusted git directory. */
const foldersFile = "reins-cone"

/** The name of the list of removed paths in a trusted git directory. */
export const removedFile = "reins-removed"

/** The files of a trusted git directory that make its workspace sparse; none for the whole tree. */
export const coneFiles = (folders: ReadonlyArray<string> | null): Readonly<Record<string, string>> =>
  folders === null ? {} : { [foldersFile]: JSON.stringify(folders), "info/sparse-checkout": patternsOf(folders) }

const readList = async (path: string): Promise<ReadonlyArray<string> | null> => {
  const text = await fs.readFile(path, "utf8").catch((cause: unknown) => {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null
    throw cause
  })
  const list: unknown = text === null ? null : JSON.parse(text)
  if (list === null) return null
  if (!Array.isArray(list) || !list.every((each) => typeof each === "string")) throw new Error("not a list of paths")
  return list
}

const atDisk = <A>(run: () => Promise<A>) => onDisk("The list of the sparse folders could not be kept", run)

/** The cone of a trusted git directory. */
export const readCone = (gitDir: string): Effect.Effect<Cone, GitError> =>
  atDisk(async () => {
    const folders = await readList(join(gitDir, foldersFile))
    if (folders === null) return whole
    const removed = new Set((await readList(join(gitDir, removedFile))) ?? [])
    return { isSparse: true, settings: sparseSettings, isOutside: outsideOf(folders), removed }
  })

/** Writes down which paths outside of a cone are removed. */
export const writeRemoved = (gitDir: string, removed: ReadonlySet<string>): Effect.Effect<void, GitError> =>
  atDisk(async () => {
    const path = join(gitDir, removedFile)
    await fs.writeFile(`${path}.new`, JSON.stringify([...removed].sort()), { flush: true })
    await fs.rename(`${path}.new`, path)
  })
