import { createHash } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface Release {
  /** The path of the tarball. */
  readonly tarball: string
  /** The content of its package.json. */
  readonly manifest: Readonly<Record<string, unknown>> & { readonly name: string; readonly version: string }
}

const entry = (url: string, { manifest, tarball }: Release) => {
  const bytes = readFileSync(tarball)
  const { name, version } = manifest
  const dist = {
    tarball: `${url}/tarballs/${encodeURIComponent(name)}`,
    shasum: createHash("sha1").update(bytes).digest("hex"),
    integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`
  }
  const released = "2020-01-01T00:00:00.000Z"
  return {
    name,
    "dist-tags": { latest: version },
    time: { created: released, modified: released, [version]: released },
    versions: { [version]: { ...manifest, _id: `${name}@${version}`, dist } }
  }
}

export interface Registry {
  readonly url: string
  readonly close: () => void
}

/** A registry of the scope `@reins` alone, so that package managers see what is packed as they see what is published. */
export const startRegistry = async (releases: ReadonlyArray<Release>): Promise<Registry> => {
  const named = new Map(releases.map((release) => [release.manifest.name, release]))
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://registry").pathname)
    const isTarball = path.startsWith("/tarballs/")
    const release = named.get(path.slice(isTarball ? "/tarballs/".length : 1))
    if (release === undefined) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":"Not found"}')
      return
    }
    response.setHeader("content-type", isTarball ? "application/octet-stream" : "application/json")
    response.end(isTarball ? readFileSync(release.tarball) : JSON.stringify(entry(url, release)))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}
