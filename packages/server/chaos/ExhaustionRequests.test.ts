import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { afterAll, assert, beforeAll, it } from "vitest"
import { killServers, newKey, type ServerProcess, startServer } from "./ServerProcess.js"
import { staysWell } from "./Vitals.js"

const mebibyte = 1024 * 1024

let dataDir: string
let server: ServerProcess
let apiKey: string
let client: Reins
let paths: { readonly projects: string; readonly uploads: string }

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "reins-requests-"))
  server = await startServer({ dataDir })
  apiKey = newKey(dataDir)
  client = new Reins({ baseUrl: server.url, apiKey })
  const workspace_id = (await client.accounts.me()).workspaces[0]?.id ?? ""
  await client.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: "http://127.0.0.1:9", api_key: "k" }
  })
  const session = await client.sessions.create({ workspace_id, harness: { provider_id: "alpha", model: "scripted-1" } })
  paths = {
    projects: `/api/workspaces/${workspace_id}/projects`,
    uploads: `/api/sessions/${session.id}/file-uploads`
  }
})
afterAll(() => {
  killServers()
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
})

const headers = (path: string, framing: string) =>
  [
    `POST ${path} HTTP/1.1`,
    "host: reins",
    `authorization: Bearer ${apiKey}`,
    "content-type: application/json",
    `idempotency-key: ${randomUUID()}`,
    framing,
    "\r\n"
  ].join("\r\n")

/** Sends a body piece by piece for as long as the server takes it. Gives the answer, and how much was handed to the system. */
const pour = (path: string, framing: string, piece: Buffer, total: number) =>
  new Promise<{ readonly answer: string; readonly poured: number; readonly failure: string | undefined }>((resolve) => {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    let answer = ""
    let failure: string | undefined
    const write = () => {
      while (socket.bytesWritten < total && socket.writable) if (!socket.write(piece)) return
    }
    socket.write(headers(path, framing))
    socket.on("drain", write)
    socket.on("data", (chunk) => {
      answer += String(chunk)
    })
    socket.on("error", (error) => {
      failure = "code" in error ? String(error.code) : error.message
    })
    socket.once("close", () => resolve({ answer, poured: socket.bytesWritten - socket.writableLength, failure }))
    write()
  })

const gibibyte = 1024 * mebibyte
const piece = Buffer.alloc(256 * 1024, "x")
const chunk = Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")])

it("a body of 1 GiB that says so is refused before it is read, and its connection is closed", async () => {
  await staysWell(server, async () => {
    const uploads = [paths.uploads, paths.projects, paths.uploads, paths.projects, "/api/auth/login", "/api/nowhere"]
    const ends = await Promise.all(uploads.map((path) => pour(path, `content-length: ${gibibyte}`, piece, gibibyte)))
    for (const { answer, poured } of ends) {
      assert.match(answer, /^HTTP\/1\.1 413 /)
      assert.match(answer, /^connection: close\r$/im)
      assert.include(answer, '"code":"payload_too_large"')
      assert.isBelow(poured, gibibyte / 8)
    }
  })
})

it("a body of 1 GiB that does not say so is refused at the limit, and its connection is closed", async () => {
  await staysWell(server, async () => {
    const uploads = [paths.uploads, paths.projects, paths.uploads, paths.projects, paths.uploads, paths.uploads]
    const ends = await Promise.all(uploads.map((path) => pour(path, "transfer-encoding: chunked", chunk, gibibyte)))
    for (const { answer, poured } of ends) {
      assert.match(answer, /^HTTP\/1\.1 413 /)
      assert.match(answer, /^connection: close\r$/im)
      assert.isBelow(poured, gibibyte / 8)
    }
  })
})

it("a client that asks before it sends is told the limit without sending, and else to go on", async () => {
  const ask = (length: number) =>
    new Promise<string>((resolve) => {
      const { hostname, port } = new URL(server.url)
      const socket = connect(Number(port), hostname)
      socket.write(headers(paths.projects, `content-length: ${length}\r\nexpect: 100-continue`))
      socket.once("data", (data) => {
        resolve(String(data))
        socket.destroy()
      })
    })
  assert.match(await ask(gibibyte), /^HTTP\/1\.1 413 /)
  assert.match(await ask(10), /^HTTP\/1\.1 100 Continue\r\n/)
})
