import { createHash } from "node:crypto"
import { createReadStream, createWriteStream } from "node:fs"
import { mkdir, rename, rm } from "node:fs/promises"
import * as path from "node:path"
import { pipeline } from "node:stream/promises"
import { Data, Effect, Schedule } from "effect"
import { fn } from "../base/Traced.js"
import type { PinnedPackage } from "./Manifest.js"

/** A harness cannot be installed. `message` says why, and what to do next. */
export class HarnessInstallError extends Data.TaggedError("HarnessInstallError")<{
  readonly kind: "network" | "integrity" | "platform_unsupported" | "disk" | "disabled" | "executable_missing"
  readonly message: string
}> {}

export interface DownloadProgress {
  readonly package: string
  readonly downloaded_bytes: number
  /** Null when the registry does not give the size. */
  readonly total_bytes: number | null
}

const progressStep = 1024 * 1024

const named = (pinned: PinnedPackage): string => `${pinned.name}@${pinned.version}`

export const tarballUrl = (registry: string, pinned: PinnedPackage): string =>
  `${registry.replace(/\/+$/, "")}/${pinned.name}/-/${path.posix.basename(pinned.name)}-${pinned.version}.tgz`

const codeOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  return cause instanceof Error && "code" in cause
    ? String(cause.code)
    : cause instanceof Error
      ? cause.name
      : "unknown error"
}

const diskCodes = new Set(["ENOSPC", "EACCES", "EPERM", "EROFS", "EDQUOT", "EIO", "ENOTDIR"])

export const diskError = (error: unknown): HarnessInstallError =>
  new HarnessInstallError({
    kind: "disk",
    message: `The cache directory cannot be written (${codeOf(error)}). Free some space or choose another directory, then install again.`
  })

const downloadError =
  (pinned: PinnedPackage, registry: string) =>
  (error: unknown): HarnessInstallError => {
    if (error instanceof HarnessInstallError) return error
    const code = codeOf(error)
    if (diskCodes.has(code)) return diskError(error)
    return new HarnessInstallError({
      kind: "network",
      message: `${named(pinned)} could not be downloaded from ${new URL(registry).host} (${code}). Check the network, a proxy or REINS_NPM_REGISTRY, then install again: finished downloads are kept.`
    })
  }

const digestOf = async (file: string): Promise<string | undefined> => {
  const hash = createHash("sha512")
  try {
    for await (const chunk of createReadStream(file)) hash.update(chunk)
    return `sha512-${hash.digest("base64")}`
  } catch {
    return undefined
  }
}

const fetchTo = async (
  url: string,
  pinned: PinnedPackage,
  file: string,
  onProgress: (progress: DownloadProgress) => void,
  signal: AbortSignal
): Promise<void> => {
  const response = await fetch(url, { signal, redirect: "follow" })
  if (!response.ok || response.body === null) {
    throw new HarnessInstallError({
      kind: "network",
      message: `The registry answered ${response.status} for ${named(pinned)}. Check REINS_NPM_REGISTRY: the pinned version must be there.`
    })
  }
  const length = Number(response.headers.get("content-length"))
  const total = Number.isFinite(length) && length > 0 ? length : null
  const hash = createHash("sha512")
  let received = 0
  let reported = 0
  const report = () => onProgress({ package: named(pinned), downloaded_bytes: received, total_bytes: total })
  report()
  await pipeline(
    response.body,
    async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        hash.update(chunk)
        received += chunk.length
        if (received - reported >= progressStep) {
          reported = received
          report()
        }
        yield chunk
      }
    },
    createWriteStream(`${file}.part`),
    { signal }
  )
  report()
  if (`sha512-${hash.digest("base64")}` !== pinned.integrity) {
    await rm(`${file}.part`, { force: true })
    throw new HarnessInstallError({
      kind: "integrity",
      message: `${named(pinned)} has another digest than the pinned one, so the download was deleted. Use another registry or report it.`
    })
  }
  await rename(`${file}.part`, file)
}

/** Downloads the tarball of a package to `file`. A file with the pinned digest is not downloaded again. */
export const download = fn("PackageDownload.download")(function* (
  registry: string,
  pinned: PinnedPackage,
  file: string,
  onProgress: (progress: DownloadProgress) => void
) {
  const present = yield* Effect.promise(() => digestOf(file))
  if (present === pinned.integrity) return
  yield* Effect.tryPromise({
    try: (signal) => fetchTo(tarballUrl(registry, pinned), pinned, file, onProgress, signal),
    catch: downloadError(pinned, registry)
  }).pipe(
    Effect.retry({ times: 2, schedule: Schedule.exponential("500 millis"), while: (error) => error.kind === "network" })
  )
})

/** Unpacks the files and directories of a tarball of npm. Links are refused, because a link could lead out of the package. */
export const unpack = (file: string, directory: string): Effect.Effect<void, HarnessInstallError> =>
  Effect.tryPromise({
    try: async () => {
      await mkdir(directory, { recursive: true })
      const { extract } = await import("tar")
      await extract({
        file,
        cwd: directory,
        strip: 1,
        preserveOwner: false,
        filter: (_, entry) => !("type" in entry) || (entry.type !== "SymbolicLink" && entry.type !== "Link")
      })
    },
    catch: diskError
  })
