import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { inDirectory } from "../../files/Beneath.js"
import { quotedName } from "../../repository/read/Changes.js"
import { git, records } from "../../repository/run/GitCommand.js"
import { type GitError, readOutput } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import { readPart } from "../agent/AgentGit.js"
import { type Attributes, attributesOf, foldersOf, inFolder, isGiven, viewIn } from "../attributes/Attributes.js"
import { type BlobWriter, blobId } from "../index/BlobWriter.js"
import { latinNames, type PathFinding, type TreeFile } from "../index/Capture.js"

// Gives content the form in which `git add` stores it. git converts copies of the bytes that `Capture` read, in a private git directory without a filter.

/** The workspace whose attributes hold, and a private folder for the copies. */
export interface StoringRequest {
  readonly gitDir: string
  readonly workTree: string
  readonly folder: string
  /** The file that the base has at a path. git leaves the line ends of `text=auto` alone where it has CRLF already. */
  readonly indexed: (path: string) => TreeFile | undefined
  /** The `.gitattributes` of folders that have none in the workspace and have one all the same, by folder. */
  readonly missing: (folders: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, Buffer>, GitError>
}

/** A writer whose ids stand for the content before `settle` gives the final ones. */
export interface Storing extends BlobWriter {
  readonly settle: (
    captured: ReadonlyMap<string, PathFinding>
  ) => Effect.Effect<ReadonlyMap<string, PathFinding>, GitError>
}

const conversions = ["text", "eol", "crlf", "ident", "working-tree-encoding"]

const maxAttributesBytes = 1024 * 1024

/** The `.gitattributes` of a folder; null where it has none. As git does, it passes over a link. */
const attributesIn = (workTree: string, folder: string) =>
  inDirectory(workTree, latinNames(folder), { create: false }, (directory) =>
    readPart(directory, ".gitattributes", maxAttributesBytes + 1)
  ).pipe(Effect.orElseSucceed(() => null))

/** The attributes of the paths in the workspace. */
const treeAttributes = (
  options: GitOptionsShape,
  { folder: place, missing, workTree }: StoringRequest,
  paths: ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    const texts = yield* Effect.forEach(
      foldersOf(paths),
      (folder) => Effect.map(attributesIn(workTree, folder), (text) => ({ folder, text })),
      { concurrency: 8 }
    )
    const others = yield* missing(texts.flatMap(({ folder, text }) => (text === null ? [folder] : [])))
    const files = texts.flatMap(({ folder, text: own }) => {
      const text = own ?? others.get(folder)
      return text === undefined || text.length > maxAttributesBytes ? [] : [{ folder, text }]
    })
    return yield* attributesOf(options, { place, files, paths, names: conversions })
  })

const mayChange = (of: Attributes, bytes: Buffer): boolean =>
  isGiven(of.get("working-tree-encoding")) ||
  (isGiven(of.get("ident")) && bytes.includes("$Id")) ||
  (["text", "eol", "crlf"].some((name) => isGiven(of.get(name))) && bytes.includes("\r\n"))

const attributeText = (of: Attributes): string =>
  conversions
    .flatMap((name) => {
      const value = of.get(name) ?? "unspecified"
      if (value === "unspecified") return []
      return [value === "set" ? name : value === "unset" ? `-${name}` : `${name}=${value}`]
    })
    .join(" ")

/** A content that git converts, by the name of its copy. */
interface Copy {
  readonly path: string
  readonly of: Attributes
}

/** The contents in the output of `cat-file --batch`, in the order in which they were asked for. Throws at anything but a blob. */
export const parseBatch = (output: Buffer, ids: ReadonlyArray<string>): ReadonlyArray<Buffer> => {
  let at = 0
  const contents = ids.map((id) => {
    const end = output.indexOf("\n", at)
    const [, found, size] = /^([0-9a-f]{40}) blob (\d+)$/.exec(output.toString("latin1", at, end)) ?? []
    const start = end + 1
    at = start + Number(size) + 1
    if (end < 0 || found !== id || at > output.length) throw new Error("not the blob that was asked for")
    return output.subarray(start, at - 1)
  })
  if (at !== output.length) throw new Error("more than was asked for")
  return contents
}

/** An index entry of `ls-files --stage` whose name is a number. */
const numbered = (record: string): readonly [number: number, id: string] => {
  const [, id = "", number] = /^100[0-7]{3} ([0-9a-f]{40}) 0\t(\d+)$/.exec(record) ?? []
  if (number === undefined) throw new Error("not an entry of a copy")
  return [Number(number), id]
}

/** Converts the copies and gives the content of each by its number. One that git refuses to convert is missing. */
const convert = (options: GitOptionsShape, request: StoringRequest, copies: ReadonlyArray<Copy>) =>
  Effect.gen(function* () {
    const view = viewIn(request.folder)
    const lines = copies.map(({ of }, at) => `/${at} ${attributeText(of)}\n`)
    yield* inFolder(() => fs.writeFile(join(view, "info/attributes"), lines.join(""), "latin1"))
    const run = (args: ReadonlyArray<string>, stdin: string) =>
      git({
        args,
        gitDir: view,
        workTree: join(request.folder, "copies"),
        indexFile: join(view, "index"),
        env: { GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(join(request.gitDir, "objects")) },
        settings: ["core.safecrlf=false"],
        stdin: Buffer.from(stdin),
        maxStdoutBytes: Number.POSITIVE_INFINITY,
        timeoutMs: options.localTimeoutMs
      })
    const had = copies.flatMap(({ path }, at) => {
      const entry = request.indexed(path)
      return entry?.mode.startsWith("100") === true ? [`${entry.mode} ${entry.id}\t${at}\0`] : []
    })
    yield* run(["update-index", "-z", "--index-info"], had.join(""))
    const failed = new Set<number>()
    // git does not say for certain which content it refuses, so the copies are halved until the few are found.
    const add = (from: number, to: number): Effect.Effect<void, GitError> =>
      run(
        ["update-index", "-z", "--add", "--stdin"],
        Array.from({ length: to - from }, (_, at) => `${from + at}\0`).join("")
      ).pipe(
        Effect.asVoid,
        Effect.catchIf(
          (error) => error.kind !== "timeout",
          () => {
            if (to - from === 1) return Effect.sync(() => void failed.add(from))
            const middle = Math.ceil((from + to) / 2)
            return Effect.zipRight(add(from, middle), add(middle, to))
          }
        )
      )
    yield* add(0, copies.length)
    const listed = (yield* run(["ls-files", "-z", "--stage"], "")).stdout
    const entries = (yield* readOutput("ls-files", () => records(listed).map(numbered))).filter(
      ([number]) => !failed.has(number)
    )
    const ids = entries.map(([, id]) => id)
    const { stdout } = yield* run(["cat-file", "--batch"], ids.map((id) => `${id}\n`).join(""))
    const contents = yield* readOutput("cat-file", () => parseBatch(stdout, ids))
    return new Map(entries.map(([number], at) => [number, contents[at]]))
  })

const pending = "copy "

/** A writer that stores the content of these paths as the attributes of the workspace say. Without attributes it is the writer that it is given. */
export const makeStoring = (
  options: GitOptionsShape,
  request: StoringRequest,
  writer: BlobWriter,
  paths: ReadonlyArray<string>
): Effect.Effect<Storing, GitError> =>
  Effect.gen(function* () {
    const found = yield* treeAttributes(options, request, paths)
    const copies: Array<Copy> = []
    const put: BlobWriter["put"] = (bytes, path) => {
      const of = path === undefined ? undefined : found.get(path)
      if (path === undefined || of === undefined) return writer.put(bytes)
      const had = request.indexed(path)
      // Content that is stored already stays as it is, whatever attributes were given to it since.
      if (had?.mode.startsWith("100") === true && had.id === blobId(bytes)) return writer.put(bytes)
      if (!mayChange(of, bytes)) return writer.put(bytes)
      const number = copies.push({ path, of }) - 1
      return inFolder(async () => {
        await fs.mkdir(join(request.folder, "copies"), { recursive: true })
        await fs.writeFile(join(request.folder, "copies", String(number)), bytes)
        return `${pending}${number}`
      })
    }
    const settle: Storing["settle"] = (captured) =>
      Effect.gen(function* () {
        if (copies.length === 0) return captured
        const contents = yield* convert(options, request, copies)
        const settled = new Map(captured)
        for (const [path, result] of captured) {
          if (result.state !== "file" || !result.file.id.startsWith(pending)) continue
          const bytes = contents.get(Number(result.file.id.slice(pending.length)))
          if (bytes === undefined) {
            const note = `${quotedName(path)} was left out: git cannot store it as its attributes say. Correct the file or .gitattributes`
            settled.set(path, { state: "kept", note })
          } else settled.set(path, { ...result, file: { ...result.file, id: yield* writer.put(bytes) } })
        }
        return settled
      })
    return { put, settle }
  })
