import { execFile, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { build } from "esbuild"
import { chromium } from "playwright-core"
import { Webhook } from "standardwebhooks"
import { afterAll, assert, beforeAll, it } from "vitest"
import { frame, json, openStream, type Received, refuse, type ScriptedServer, serve } from "../test/ScriptedServer.js"

const run = promisify(execFile)
const here = fileURLToPath(new URL(".", import.meta.url))
const modules = join(here, "node_modules")
const directory = mkdtempSync(join(tmpdir(), "reins-runtimes-"))
let server: ScriptedServer

const total = 500
const turn = { id: "turn_1", session_id: "sess_1", state: "succeeded", outcome: { message_id: "msg_1" } }
const message = { id: "msg_1", content: [{ type: "text", text: "Done é😀." }] }

const log = Array.from({ length: total }, (_, index) =>
  index === total - 1 ? frame(total, "turn.succeeded", { turn }) : frame(index + 1, "usage.observed", { text: "é😀" })
)

/** The server tells its callers apart by their base path, so that every walk finds it untouched. */
const answer = (response: ServerResponse, { body, headers, method, url }: Received) => {
  const { pathname, searchParams } = new URL(url, "http://x")
  const [, caller = "", ...rest] = pathname.split("/")
  const path = `/${rest.join("/")}`
  const earlier = server.received.filter((other) => other.method === method && other.url === url).length - 1
  if (method === "GET" && caller === "page") return page(response, path)
  if (path === "/delivery") return delivery(response)
  if (headers.authorization !== "Bearer rk_runtime") return refuse(response, 401, "unauthenticated")
  if (path === "/api/workspaces/wsp_1/sessions" && method === "POST") {
    // The first try is lost, and the second one has the key of the first.
    if (earlier === 0) return response.destroy()
    return json(response, 201, { id: "sess_1", ...JSON.parse(body) })
  }
  if (path === "/api/workspaces/wsp_1/sessions") {
    const last = searchParams.get("cursor") === "2"
    return json(response, 200, { items: [{ id: last ? "sess_2" : "sess_1" }], next_cursor: last ? null : "2" })
  }
  if (path === "/api/sessions/sess_1/messages") {
    return json(response, 202, { message, turn_id: "turn_1", event_watermark: total })
  }
  if (path === "/api/sessions/sess_silent/events") return openStream(response)
  if (path !== "/api/sessions/sess_1/events") return refuse(response, 404, "not_found")
  openStream(response)
  if (searchParams.has("turn_id")) {
    response.write(frame(total + 1, "message.completed", { message }))
    return response.write(frame(total + 2, "turn.succeeded", { turn }))
  }
  // Every connection is cut in the middle of something, and the next one begins with events that were seen.
  const after = Number(searchParams.get("after"))
  const left = Buffer.from(log.slice(Math.max(0, after - 2)).join(""))
  if (left.length < 20_000) return response.write(left)
  response.write(left.subarray(0, 20_001), () => response.destroy())
}

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`

/** The delivery of a webhook as an answer, because not all runtimes can listen. The public library has signed it. */
const delivery = (response: ServerResponse) => {
  const body = JSON.stringify({ type: "turn.succeeded", data: { payload: { text: "é😀" } } })
  const at = new Date()
  const headers = {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign("evt_1", at, body)
  }
  return response.writeHead(200, { ...headers, "content-type": "application/json", "x-secret": secret }).end(body)
}

/** A page of the same origin, and the modules that it imports. */
const page = (response: ServerResponse, path: string) => {
  if (path === "/")
    return response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Reins</title>")
  const text = readFileSync(join(here, path.startsWith("/dist/") ? `..${path}` : path))
  response.writeHead(200, { "content-type": "text/javascript" }).end(text)
}

const holds = (seen: unknown, caller: string): void => {
  assert.deepStrictEqual(seen, {
    delivered: ["é😀", true, "é😀", true],
    session: "é😀",
    listed: ["sess_1", "sess_2"],
    refused: { isApiError: true, code: "not_found", status: 404, details: { id: "x" }, requestId: "req_1" },
    seqs: Array.from({ length: total }, (_, index) => index + 1),
    types: ["message.completed", "turn.succeeded"],
    text: "Done é😀.",
    aborted: "enough"
  })
  const own = server.received.filter(({ url }) => url.startsWith(`/${caller}/`))
  const keys = own
    .filter(({ method, url }) => method === "POST" && url.endsWith("/sessions"))
    .map(({ headers }) => headers["idempotency-key"])
  assert.strictEqual(keys.length, 2)
  assert.strictEqual(new Set(keys).size, 1)
  const streams = own.filter(({ url }) => url.includes("sess_1/events") && !url.includes("turn_id"))
  assert.isAbove(streams.length, 2, "the stream was never cut")
}

const walked = async (name: string, program: string, args: ReadonlyArray<string> = []) => {
  const { stdout } = await run(program, [...args, join(here, "main.mjs"), `${server.url}/${name}`])
  holds(JSON.parse(stdout), name)
}

beforeAll(async () => {
  server = await serve(answer)
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true, force: true })
})

it("Node", () => walked("node", process.execPath))

it("Deno", () =>
  walked("deno", join(modules, "@deno/linux-x64-glibc/deno"), [
    "run",
    "--no-remote",
    "--no-config",
    "--allow-net=127.0.0.1"
  ]))

it("Bun", () => walked("bun", join(modules, "@oven/bun-linux-x64/bin/bun"), ["--no-install"]))

it("Chromium", async () => {
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
  })
  try {
    const tab = await browser.newPage()
    const complaints: Array<string> = []
    tab.on("pageerror", (error) => complaints.push(String(error)))
    await tab.goto(`${server.url}/page/`)
    const seen = await tab.evaluate(`Promise.all([import("/page/dist/index.js"), import("/page/scenario.mjs")])
      .then(([client, { walk }]) => walk(client, "${server.url}/chromium"))`)
    holds(seen, "chromium")
    assert.deepStrictEqual(complaints, [])
  } finally {
    await browser.close()
  }
})

it("Workers", async () => {
  const script = join(directory, "worker.js")
  await build({
    entryPoints: [join(here, "worker.mjs")],
    bundle: true,
    format: "esm",
    outfile: script,
    logLevel: "silent"
  })
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (modules = [(name = "worker.js", esModule = embed "worker.js")], compatibilityDate = "2025-01-01")),
    (name = "internet", network = (allow = ["private"]))
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
`
  writeFileSync(join(directory, "worker.capnp"), config)
  const args = ["serve", "--control-fd=3", join(directory, "worker.capnp")]
  const worker = spawn(join(modules, "@cloudflare/workerd-linux-64/bin/workerd"), args, {
    stdio: ["ignore", "ignore", "pipe", "pipe"]
  })
  const complaints: Array<string> = []
  worker.stderr?.on("data", (chunk) => complaints.push(String(chunk)))
  try {
    const port = await listening(worker.stdio[3], () => complaints.join(""))
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { "x-server": `${server.url}/workers` } })
    const text = await response.text()
    assert.strictEqual(response.status, 200, `${text}\n${complaints.join("")}`)
    holds(JSON.parse(text), "workers")
  } finally {
    worker.kill()
  }
})

/** The port that the worker's program tells of, in lines of JSON. */
const listening = async (control: unknown, complaints: () => string): Promise<number> => {
  let told = ""
  // Boundary: the types of Node do not tell that this pipe is one that is read.
  for await (const chunk of control as AsyncIterable<Buffer>) {
    told += chunk
    const port = /"event":"listen".*"port":(\d+)/.exec(told)?.[1]
    if (port !== undefined) return Number(port)
  }
  throw new Error(`The worker did not start: ${complaints()}`)
}
