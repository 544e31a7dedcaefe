import { createHash } from "node:crypto"
import { createReadStream, type Dirent } from "node:fs"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { pipeline } from "node:stream/promises"
import { Effect } from "effect"
import type { Manifest } from "./Manifest.js"

export interface NativeStateFile {
  /** Relative to the agent's home, with `/`. */
  readonly path: string
  readonly size: number
}

export interface NativeState {
  /** Sorted by path; empty when the agent has kept nothing. */
  readonly files: ReadonlyArray<NativeStateFile>
  /** `sha256:<hex>` over every path and content; null without files. */
  readonly digest: string | null
}

/** The agent's files that are state: below the declared paths, regular, not ignored. No link is followed, not even above them. */
const listFiles = async (
  homeDir: string,
  paths: ReadonlyArray<string>,
  ignore: ReadonlyArray<RegExp>
): Promise<Array<string>> => {
  const found: Array<string> = []
  const root = await fs.realpath(homeDir).catch(() => homeDir)
  const isReal = async (relative: string) =>
    (await fs.realpath(path.join(root, relative))) === path.join(root, relative)
  const visit = async (relative: string): Promise<void> => {
    const stat = await fs.lstat(path.join(homeDir, relative)).catch(() => undefined)
    if (stat === undefined) return
    if (stat.isFile() && !ignore.some((pattern) => pattern.test(relative))) found.push(relative)
    if (!stat.isDirectory()) return
    const entries: Array<Dirent> = await fs.readdir(path.join(homeDir, relative), { withFileTypes: true })
    for (const entry of entries) await visit(`${relative}/${entry.name}`)
  }
  for (const each of paths) {
    if (await isReal(each).catch(() => false)) await visit(each)
  }
  return [...new Set(found)].sort()
}

/** One digest over (path, size, content) of each file, in the order of the paths. */
const readState = async (manifest: Manifest, homeDir: string): Promise<NativeState> => {
  if (manifest.runtime === null) return { files: [], digest: null }
  const { ignore, paths } = manifest.runtime.state
  const names = await listFiles(
    homeDir,
    paths,
    ignore.map((source) => new RegExp(source))
  )
  if (names.length === 0) return { files: [], digest: null }
  const hash = createHash("sha256")
  const files: Array<NativeStateFile> = []
  for (const name of names) {
    const file = path.join(homeDir, name)
    const { size } = await fs.stat(file)
    hash.update(`${Buffer.byteLength(name)}:${name}:${size}:`)
    await pipeline(createReadStream(file), async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) hash.update(chunk)
    })
    files.push({ path: name, size })
  }
  return { files, digest: `sha256:${hash.digest("hex")}` }
}

/** Reads the native state. Files that cannot be read are a defect: they belong to the service's own user. */
export const read = Effect.fn("Harness.nativeState")((manifest: Manifest, homeDir: string) =>
  Effect.promise(() => readState(manifest, homeDir))
)
