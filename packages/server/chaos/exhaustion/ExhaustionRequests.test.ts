import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import { assert, it } from "vitest"
import { type LoneServer, withLoneServer } from "./LoneServer.js"
import { staysWell } from "./Vitals.js"

const mebibyte = 1024 * 1024

const pathsOf = ({ sessionId, workspaceId }: LoneServer) => ({
  projects: `/api/workspaces/${workspaceId}/projects`,
  uploads: `/api/sessions/${sessionId}/file-uploads`
})

const headers = (apiKey: string, path: string, framing: string) =>
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
const pour = ({ apiKey, server }: LoneServer, path: string, framing: string, piece: Buffer, total: number) =>
  new Promise<{ readonly answer: string; readonly poured: number; readonly failure: string | undefined }>((resolve) => {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    let answer = ""
    let failure: string | undefined
    const write = () => {
      while (socket.bytesWritten < total && socket.writable) if (!socket.write(piece)) return
    }
    socket.write(headers(apiKey, path, framing))
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

it("a body of 1 GiB that says so is refused before it is read, and its connection is closed", () =>
  withLoneServer(async (given) => {
    const paths = pathsOf(given)
    await staysWell(given.server, async () => {
      const uploads = [paths.uploads, paths.projects, paths.uploads, paths.projects, "/api/auth/login", "/api/nowhere"]
      const ends = await Promise.all(
        uploads.map((path) => pour(given, path, `content-length: ${gibibyte}`, piece, gibibyte))
      )
      for (const { answer, poured } of ends) {
        assert.match(answer, /^HTTP\/1\.1 413 /)
        assert.match(answer, /^connection: close\r$/im)
        assert.include(answer, '"code":"payload_too_large"')
        assert.isBelow(poured, gibibyte / 8)
      }
    })
  }))

it("a body of 1 GiB that does not say so is refused at the limit, and its connection is closed", () =>
  withLoneServer(async (given) => {
    const paths = pathsOf(given)
    await staysWell(given.server, async () => {
      const uploads = [paths.uploads, paths.projects, paths.uploads, paths.projects, paths.uploads, paths.uploads]
      const ends = await Promise.all(
        uploads.map((path) => pour(given, path, "transfer-encoding: chunked", chunk, gibibyte))
      )
      for (const { answer, poured } of ends) {
        assert.match(answer, /^HTTP\/1\.1 413 /)
        assert.match(answer, /^connection: close\r$/im)
        assert.isBelow(poured, gibibyte / 8)
      }
    })
  }))

it("a client that asks before it sends is told the limit without sending, and else to go on", () =>
  withLoneServer(async (given) => {
    const ask = (length: number) =>
      new Promise<string>((resolve) => {
        const { hostname, port } = new URL(given.server.url)
        const socket = connect(Number(port), hostname)
        socket.write(
          headers(given.apiKey, pathsOf(given).projects, `content-length: ${length}\r\nexpect: 100-continue`)
        )
        socket.once("data", (data) => {
          resolve(String(data))
          socket.destroy()
        })
      })
    assert.match(await ask(gibibyte), /^HTTP\/1\.1 413 /)
    assert.match(await ask(10), /^HTTP\/1\.1 100 Continue\r\n/)
  }))
