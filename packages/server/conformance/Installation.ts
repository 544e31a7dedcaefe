import { once } from "node:events"
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Reins } from "@reins/client"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { type Caller, newCaller } from "@reins/testing/process/Caller"
import { inMemory, placeForFile } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { startServer } from "@reins/testing/process/ServerProcess"
import { afterAll, beforeAll } from "vitest"

/** A published server with the small agent, and the owner of its first workspace. */
export interface Installation {
  readonly directory: string
  readonly url: string
  readonly caller: Caller
  readonly client: Reins
  /** The address of `/mcp` for programs that bring no credentials. */
  readonly openMcpUrl: string
}

/** Brings the requests of others to a server with an API key. Everything else of them stays, as a test of foreign hosts needs it. */
const withKey = (target: URL, apiKey: string) => (asked: IncomingMessage, answer: ServerResponse) => {
  const out = request(
    {
      hostname: target.hostname,
      port: target.port,
      path: asked.url,
      method: asked.method,
      headers: { ...asked.headers, authorization: `Bearer ${apiKey}` }
    },
    (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers)
      got.pipe(answer)
    }
  )
  out.on("error", () => answer.destroy())
  answer.on("close", () => out.destroy())
  asked.pipe(out)
}

/** One installation for all tests of a file. `publicUrl` is the address that others are told, where that is another one. */
export const installationForFile = (publicUrl?: string): (() => Installation) => {
  const place = placeForFile(inMemory)
  const proxy = createServer()
  let made: Installation
  beforeAll(async () => {
    const { dataDir, directory, gateway } = place
    const port = await steadyPort()
    const url = `http://127.0.0.1:${port}`
    const env = {
      REINS_CACHE_DIR: cacheWithSmallAgent(directory),
      REINS_PUBLIC_URL: publicUrl ?? url,
      REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1,localhost"
    }
    const server = await startServer({ dataDir, env, args: ["--port", String(port)] })
    const caller = await newCaller(server, dataDir, gateway, env)
    proxy.on("request", withKey(new URL(url), caller.apiKey)).listen(0, "127.0.0.1")
    await once(proxy, "listening")
    const openMcpUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`
    // The first request loads the package of the protocol.
    await fetch(openMcpUrl, {
      method: "POST",
      headers: { accept: "application/json, text/event-stream", "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })
    })
    made = { directory, url, caller, client: caller.at(server), openMcpUrl }
  })
  afterAll(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return () => made
}
