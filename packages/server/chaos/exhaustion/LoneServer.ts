import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Reins } from "@reins/client"
import { newCaller } from "@reins/testing/process/Caller"
import { killServers, type ServerOptions, type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"

/** A server that one case has for itself, with a session that can be talked to. */
export interface LoneServer {
  readonly server: ServerProcess
  readonly apiKey: string
  readonly client: Reins
  readonly workspaceId: string
  readonly sessionId: string
}

/** Runs a case against a server of its own, which is gone afterwards. */
export const withLoneServer = async (
  use: (given: LoneServer) => Promise<void>,
  options: Pick<ServerOptions, "env" | "launcher"> = {}
): Promise<void> => {
  const dataDir = mkdtempSync(join(tmpdir(), "reins-alone-"))
  try {
    const server = await startServer({ dataDir, ...options })
    const { apiKey, at, newSession, workspaceId } = await newCaller(server, dataDir)
    const client = at(server)
    await use({ server, apiKey, client, workspaceId, sessionId: await newSession(client) })
  } finally {
    await killServers()
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
}

export interface Answer {
  readonly status: number
  readonly text: string
}

/** Sends a body as it is and gives the whole answer. */
export const send = (
  { apiKey, server }: LoneServer,
  method: "GET" | "POST" | "PATCH",
  path: string,
  body?: string | Buffer
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const client = request(new URL(path, server.url), {
      method,
      agent: false,
      headers: {
        authorization: `Bearer ${apiKey}`,
        "idempotency-key": randomUUID(),
        ...(body !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
      }
    })
    client.once("error", reject)
    client.once("response", (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => {
        text += chunk
      })
      response.once("error", reject)
      response.once("end", () => resolve({ status: response.statusCode ?? 0, text }))
    })
    client.end(body)
  })
