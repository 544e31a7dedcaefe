import { createHash } from "node:crypto"
import * as fs from "node:fs/promises"
import { fn } from "@reins/base/base/Traced"
import { Effect } from "effect"
import {
  attempt,
  type BeneathError,
  beneathError,
  type HardLinks,
  inDirectory,
  inRoot,
  type OpenDirectory,
  openIn,
  withFile
} from "../files/Beneath.js"
import { hardLinksOf } from "../files/HardLinks.js"
import { nameText, pathNames } from "../files/NameText.js"
import type { Manifest } from "./Manifest.js"

export interface NativeStateFile {
  /** The path relative to the agent's home, as `pathText` writes it. */
  readonly path: string
  readonly size: number
}

export interface NativeFiles {
  /** The files, sorted by path. Empty when the agent has kept no state. */
  readonly files: ReadonlyArray<NativeStateFile>
  /** `sha256:<hex>` over every path and content; null without files. */
  readonly digest: string | null
}

/** Takes the content of the files piece by piece, in the order of the files. */
export type TakePiece = (path: string, piece: Uint8Array) => void

const nothing: NativeFiles = { files: [], digest: null }

/** A bound, because each level holds a descriptor open. */
const maxDepth = 200
const pieceBytes = 256 * 1024

/** Runs `use` with the directory `name`. Does nothing when it is absent or a link. */
const within = async (parent: OpenDirectory, name: Buffer, use: (directory: OpenDirectory) => Promise<void>) => {
  const directory = await openIn(parent, name).catch((cause: unknown) => {
    const error = beneathError(cause, name)
    if (isNoState(error)) return undefined
    throw error
  })
  if (directory !== undefined) await use(directory).finally(() => directory.handle.close())
}

/** The names of the agent's state files: regular files below the declared paths that are not ignored. */
const listFiles = async (
  home: OpenDirectory,
  paths: ReadonlyArray<string>,
  ignore: ReadonlyArray<RegExp>
): Promise<ReadonlyArray<string>> => {
  const found = new Set<string>()
  const visit = async (parent: OpenDirectory, name: Buffer, path: string, depth: number): Promise<void> => {
    const stat = await fs.lstat(parent.entry(name)).catch(() => undefined)
    if (stat?.isFile() === true && !ignore.some((pattern) => pattern.test(path))) found.add(path)
    if (stat?.isDirectory() !== true || depth === maxDepth) return
    await within(parent, name, async (directory) => {
      for (const entry of await fs.readdir(directory.entry("."), { encoding: "buffer" }))
        await visit(directory, entry, `${path}/${nameText(entry)}`, depth + 1)
    })
  }
  const descend = (
    parent: OpenDirectory,
    [name = Buffer.alloc(0), ...rest]: ReadonlyArray<Buffer>,
    path: string
  ): Promise<void> =>
    rest.length === 0
      ? visit(parent, name, path, 0)
      : within(parent, name, (directory) => descend(directory, rest, path))
  for (const path of paths) await descend(home, pathNames(path), path)
  return [...found].sort()
}

/** Reads one file from its beginning. `begin` gets the size first. */
const readFile = (
  homeDir: string,
  path: string,
  links: HardLinks,
  begin: (size: number) => void,
  take: (piece: Uint8Array) => void
) => {
  const names = pathNames(path)
  const read = (directory: OpenDirectory) =>
    withFile(
      directory,
      names.at(-1) ?? Buffer.alloc(0),
      async (handle, { interrupted, size }) => {
        begin(size)
        for await (const piece of handle.createReadStream({ autoClose: false, highWaterMark: pieceBytes })) {
          if (interrupted()) break
          take(piece)
        }
        return size
      },
      links
    )
  return inDirectory(homeDir, names.slice(0, -1), { create: false }, read)
}

/** True for the failures of a file that is not the agent's own, or is shared with others. Any other failure to read is a defect. */
const isNoState = ({ reason }: BeneathError): boolean =>
  reason !== "denied" && reason !== "failed" && reason !== "exists"

/**
 * Reads the native state while other programs may change the home. It follows no link, not even one above a file, and reads no file that also
 * has a name outside of the home. The digest covers path, size and content of each file in the order of the paths. A file that cannot be read
 * is a defect, because all of them belong to the service's own user.
 */
export const readNativeState = fn("Harness.nativeState")(function* (
  manifest: Manifest,
  homeDir: string,
  take: TakePiece = () => undefined
) {
  if (manifest.runtime === null) return nothing
  const { ignore, paths } = manifest.runtime.state
  const patterns = ignore.map((source) => new RegExp(source))
  const names = yield* attempt(homeDir, () => inRoot(homeDir, (home) => listFiles(home, paths, patterns))).pipe(
    Effect.catchIf(isNoState, () => Effect.succeed([]))
  )
  const links = hardLinksOf(homeDir)
  const hash = createHash("sha256")
  const files: Array<NativeStateFile> = []
  for (const path of names) {
    const size = yield* readFile(
      homeDir,
      path,
      links,
      (bytes) => void hash.update(`${Buffer.byteLength(path)}:${path}:${bytes}:`),
      (piece) => {
        hash.update(piece)
        take(path, piece)
      }
    ).pipe(Effect.catchIf(isNoState, () => Effect.succeed(undefined)))
    if (size !== undefined) files.push({ path, size })
  }
  return files.length === 0 ? nothing : { files, digest: `sha256:${hash.digest("hex")}` }
}, Effect.orDie)
