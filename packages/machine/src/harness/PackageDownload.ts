import { createHash } from "node:crypto"
import { createReadStream, createWriteStream } from "node:fs"
import { mkdir, rename, rm } from "node:fs/promises"
import http, { type IncomingMessage } from "node:http"
import https from "node:https"
import * as path from "node:path"
import { pipeline } from "node:stream/promises"
import type { Egress } from "@reins/base/base/Egress"
import { fn } from "@reins/base/base/Traced"
import { Effect, Schedule } from "effect"
import { EgressFailed } from "../outbound/EgressTunnel.js"
import { guardedAgents, limitConnecting } from "../outbound/GuardedAgents.js"
import { diskCodes, diskError, HarnessInstallError, installCode } from "./InstallError.js"
import type { PinnedPackage } from "./Manifest.js"

export interface DownloadProgress {
  readonly package: string
  readonly downloaded_bytes: number
  /** Null when the registry does not give the size. */
  readonly total_bytes: number | null
}

const progressStep = 1024 * 1024

const named = (pinned: PinnedPackage): string => `${pinned.name}@${pinned.version}`

export const tarballUrl = (registry: string, pinned: PinnedPackage): string =>
  `${registry.replace(/(?<!\/)\/+$/, "")}/${pinned.name}/-/${path.posix.basename(pinned.name)}-${pinned.version}.tgz`

const downloadError =
  (pinned: PinnedPackage, registry: string) =>
  (error: unknown): HarnessInstallError => {
    if (error instanceof HarnessInstallError) return error
    const code = installCode(error)
    if (diskCodes.has(code)) return diskError(error)
    if (error instanceof EgressFailed) {
      const message = `${named(pinned)} could not be downloaded. ${error.message} Then install again: finished downloads are kept.`
      return new HarnessInstallError({ kind: "network", message })
    }
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

const mostRedirects = 5
/** Milliseconds in which a registry has to say something. */
const silenceMs = 300_000

/** Asks for a file of the registry, which may be at any address, because the operator names it. Redirects are followed. */
const ask = (url: URL, egress: Egress | null, signal: AbortSignal, redirects = 0): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const agents = guardedAgents({ allowPrivateHosts: ["*"], egress }, { keepAlive: false })
    const asked =
      url.protocol === "https:"
        ? https.get(url, { agent: agents.https, signal })
        : http.get(url, { agent: agents.http, signal })
    const late = () => asked.destroy(Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" }))
    limitConnecting(asked, late)
    asked.setTimeout(silenceMs, late)
    asked.once("error", reject)
    asked.once("response", (response) => {
      const { location } = response.headers
      const isRedirect = [301, 302, 303, 307, 308].includes(response.statusCode ?? 0)
      if (!isRedirect || location === undefined || redirects === mostRedirects) return resolve(response)
      response.resume()
      const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined
      if (next === undefined || !/^https?:$/.test(next.protocol)) return resolve(response)
      ask(next, egress, signal, redirects + 1).then(resolve, reject)
    })
  })

interface Source {
  readonly registry: string
  readonly egress: Egress | null
}

const fetchTo = async (
  { egress, registry }: Source,
  pinned: PinnedPackage,
  file: string,
  onProgress: (progress: DownloadProgress) => void,
  signal: AbortSignal
): Promise<void> => {
  const response = await ask(new URL(tarballUrl(registry, pinned)), egress, signal)
  if (response.statusCode !== 200) {
    response.destroy()
    throw new HarnessInstallError({
      kind: "network",
      message: `The registry answered ${response.statusCode} for ${named(pinned)}. Check REINS_NPM_REGISTRY: the pinned version must be there.`
    })
  }
  const length = Number(response.headers["content-length"])
  const total = Number.isFinite(length) && length > 0 ? length : null
  const hash = createHash("sha512")
  let received = 0
  let reported = 0
  const report = () => onProgress({ package: named(pinned), downloaded_bytes: received, total_bytes: total })
  report()
  await pipeline(
    response,
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
  source: Source,
  pinned: PinnedPackage,
  file: string,
  onProgress: (progress: DownloadProgress) => void
) {
  const present = yield* Effect.promise(() => digestOf(file))
  if (present === pinned.integrity) return
  yield* Effect.tryPromise({
    try: (signal) => fetchTo(source, pinned, file, onProgress, signal),
    catch: downloadError(pinned, source.registry)
  }).pipe(
    Effect.retry({ times: 2, schedule: Schedule.exponential("500 millis"), while: (error) => error.kind === "network" })
  )
})

/** Unpacks the files and directories of a tarball of npm. Links are refused, because a link could lead out of the package. */
export const unpackPackage = (file: string, directory: string): Effect.Effect<void, HarnessInstallError> =>
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
