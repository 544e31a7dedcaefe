import { createHash } from "node:crypto"
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import http from "node:http"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { Effect } from "effect"
import { create } from "tar"
import alpha from "../../../../manifests/alpha.json" with { type: "json" }
import { onLoopback } from "../connections/Loopback.js"

interface Tarball {
  readonly name: string
  readonly bytes: Buffer
  readonly integrity: string
}

const makeTarball = async (root: string, name: string): Promise<Tarball> => {
  const directory = path.join(root, name, "package")
  await mkdir(path.join(directory, "bin"), { recursive: true })
  await writeFile(path.join(directory, "package.json"), JSON.stringify({ name, version: "1.0.0" }))
  await writeFile(path.join(directory, "bin/run"), `#!/bin/sh\necho ${name}\n`)
  const file = path.join(root, `${path.basename(name)}.tgz`)
  await create({ gzip: true, file, cwd: path.join(root, name) }, ["package"])
  const bytes = await readFile(file)
  return { name, bytes, integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}` }
}

/**
 * A registry of two packages. `broken` names the ones that it does not have, `altered` those that differ from what was pinned. One in `held` stays
 * unfinished until `release` is called.
 */
export const registry = Effect.gen(function* () {
  const root = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(path.join(tmpdir(), "reins-install-"))),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
  )
  const tarballs = yield* Effect.promise(() =>
    Promise.all(["agent", "@scope/dependency"].map((name) => makeTarball(root, name)))
  )
  const requests: Array<string> = []
  const broken = new Set<string>()
  const altered = new Set<string>()
  const held = new Set<string>()
  const waiting: Array<() => void> = []
  const port = yield* onLoopback(() =>
    http.createServer((request, response) => {
      requests.push(request.url ?? "")
      const found = tarballs.find(({ name }) => request.url === `/${name}/-/${path.basename(name)}-1.0.0.tgz`)
      if (found === undefined || broken.has(found.name)) return void response.writeHead(503).end()
      const bytes = altered.has(found.name) ? Buffer.concat([found.bytes, Buffer.from("x")]) : found.bytes
      response.writeHead(200, { "content-length": bytes.length })
      if (!held.has(found.name)) return void response.end(bytes)
      response.write(bytes.subarray(0, bytes.length / 2))
      waiting.push(() => response.end(bytes.subarray(bytes.length / 2)))
    })
  )
  const url = `http://127.0.0.1:${port}`
  const packages = tarballs.map(({ integrity, name }) => ({ name, version: "1.0.0", integrity }))
  const release = () => {
    held.clear()
    for (const finish of waiting.splice(0)) finish()
  }
  return { altered, broken, cacheDir: path.join(root, "cache"), held, packages, release, requests, url }
})

/** The manifest of alpha with an agent that comes from these packages. */
export const installedFrom = (
  packages: ReadonlyArray<object>,
  platform: object = { os: process.platform, cpu: process.arch }
) => ({
  ...alpha,
  runtime: {
    ...alpha.runtime,
    install: {
      packages,
      platforms: [{ id: "here", packages: [], executable: "node_modules/agent/bin/run", ...platform }]
    }
  }
})
