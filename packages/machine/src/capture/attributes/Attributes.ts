import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { beneath } from "../../files/NameText.js"
import { git, records } from "../../repository/run/GitCommand.js"
import { type GitError, onDisk, readOutput } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"

// Asks git for attributes (gitattributes(5)), in a private folder with copies of the files that give them.

/** The values of attributes by their names, as `check-attr` writes them. */
export type Attributes = ReadonlyMap<string, string>

/** A `.gitattributes`, and the folder (latin1) that it stands in. */
export interface AttributesFile {
  readonly folder: string
  readonly text: Uint8Array
}

/** Where the copies stand, the files, and what is asked of which paths (latin1). */
export interface AttributesRequest {
  readonly place: string
  readonly files: ReadonlyArray<AttributesFile>
  readonly paths: ReadonlyArray<string>
  readonly names: ReadonlyArray<string>
}

/** The folders (latin1) whose attributes hold for the paths. */
export const foldersOf = (paths: ReadonlyArray<string>): ReadonlySet<string> => {
  const folders = new Set(paths.length === 0 ? [] : [""])
  for (const path of paths)
    for (let at = path.lastIndexOf("/"); at > 0 && !folders.has(path.slice(0, at)); at = path.lastIndexOf("/", at - 1))
      folders.add(path.slice(0, at))
  return folders
}

/** True for an attribute with a value, or that is set. */
export const isGiven = (value: string | undefined): value is string =>
  value !== undefined && value !== "unspecified" && value !== "unset"

/** An operation on files of the service in its git directory. */
export const inFolder = <A>(run: () => Promise<A>) => onDisk("The git directory could not be written", run)

/** Makes a git directory that has no setting and no attribute of its own. */
export const makeView = (view: string) =>
  inFolder(async () => {
    for (const name of ["info", "refs", "objects"]) await fs.mkdir(join(view, name), { recursive: true })
    await fs.writeFile(join(view, "HEAD"), "ref: refs/heads/none\n")
  })

/** The attributes by path in the output of `check-attr -z`. Throws at a name that was not asked for. */
export const parseAttributes = (output: Buffer, names: ReadonlyArray<string>): ReadonlyMap<string, Attributes> => {
  const found = new Map<string, Map<string, string>>()
  const fields = records(output)
  if (fields.length % 3 !== 0) throw new Error("not three fields for each attribute")
  for (let at = 0; at < fields.length; at += 3) {
    const [path = "", name = "", value = ""] = fields.slice(at, at + 3)
    if (path === "" || value === "" || !names.includes(name)) throw new Error("not an attribute that was asked for")
    const known = found.get(path)
    if (known === undefined) found.set(path, new Map([[name, value]]))
    else known.set(name, value)
  }
  return found
}

/** The git directory below a place of copies. It has no attribute of its own before somebody writes one. */
export const viewIn = (place: string): string => join(place, "view")

/** The attributes of the paths. No process is started where no file gives any. */
export const attributesOf = (
  options: GitOptionsShape,
  { files, names, paths, place }: AttributesRequest
): Effect.Effect<ReadonlyMap<string, Attributes>, GitError> =>
  Effect.gen(function* () {
    const none: ReadonlyMap<string, Attributes> = new Map()
    if (files.length === 0 || paths.length === 0) return none
    const tree = join(place, "attributes")
    yield* makeView(viewIn(place))
    yield* inFolder(async () => {
      for (const { folder, text } of files) {
        const at = folder === "" ? Buffer.from(tree) : beneath(tree, Buffer.from(folder, "latin1"))
        await fs.mkdir(at, { recursive: true })
        await fs.writeFile(beneath(at, Buffer.from(".gitattributes")), text)
      }
    })
    const { stdout } = yield* git({
      args: ["check-attr", "-z", "--stdin", ...names],
      gitDir: viewIn(place),
      workTree: tree,
      stdin: Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1"),
      timeoutMs: options.localTimeoutMs
    })
    return yield* readOutput("check-attr", () => parseAttributes(stdout, names))
  })
