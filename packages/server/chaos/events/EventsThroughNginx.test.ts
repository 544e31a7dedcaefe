import type { Reins } from "@reins/client"
import type { Block } from "@reins/testing/process/Blocks"
import { newCaller } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { type ServerOptions, type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { upTo } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { afterEach, assert, beforeEach, it } from "vitest"
import { assertSocket } from "../deploy/EditorSocket.js"
import { assertHidden } from "../deploy/Hidden.js"
import { byClient, bySse, readStream, type Source } from "./EventReaders.js"
import { type Nginx, startNginx } from "./Nginx.js"

const place = placeForEachTest(inMemory)
let options: ServerOptions
let server: ServerProcess
let nginx: Nginx
let source: Source
let reins: Reins

beforeEach(async () => {
  const port = await steadyPort()
  const env = { REINS_METRICS: "on", REINS_LOG_LEVEL: "info", REINS_TRUSTED_PROXIES: "127.0.0.1", REINS_ACP: "on" }
  options = { dataDir: place.dataDir, args: ["--port", String(port)], env }
  server = await startServer(options)
  nginx = await startNginx(server.url)
  const caller = await newCaller(server, place.dataDir)
  reins = caller.at(nginx, { maxRetries: 20 })
  source = { baseUrl: nginx.url, apiKey: caller.apiKey, sessionId: await caller.newSession(reins) }
})
afterEach(() => nginx.stop())

const isHeartbeat = ({ text }: Block): boolean => text === ": heartbeat"

/** Makes one event. */
const note = (content: string) =>
  reins.messages.send({ session_id: source.sessionId, content, routing: "note" }).then((sent) => sent.event_watermark)

const watermark = async (): Promise<number> =>
  (await reins.sessions.get({ session_id: source.sessionId })).event_watermark

it.each(["as Debian ships it", "with the file of deploy/"])("an event is through nginx %s at once", async (which) => {
  const baseUrl = which === "as Debian ships it" ? nginx.url : nginx.deployedUrl
  const arrivals = new Map<number, number>()
  let arrived = () => {}
  let accel: unknown = "none"
  let finished = false
  let opened = () => {}
  const open = new Promise<void>((resolve) => {
    opened = resolve
  })
  const reading = readStream(
    { ...source, baseUrl },
    {
      onResponse: ({ headers }) => {
        accel = headers["x-accel-buffering"]
        assert.strictEqual(headers["content-type"], "text/event-stream")
        assert.strictEqual(headers["cache-control"], "no-cache, no-transform")
        assert.isUndefined(headers["content-encoding"])
      },
      onBlock: ({ id, text }) => {
        if (text.startsWith("retry: 2000\n: watermark ")) opened()
        if (id !== undefined) arrivals.set(Number(id), performance.now())
        arrived()
        return !finished
      }
    }
  )
  await open
  assert.isUndefined(accel, "nginx takes the header for itself")
  const delays: Array<number> = []
  for (let index = 0; index < 20; index++) {
    const seq = await note(`note ${index}`)
    const committed = performance.now()
    while (!arrivals.has(seq))
      await new Promise<void>((resolve) => {
        arrived = resolve
      })
    delays.push(Math.max(0, (arrivals.get(seq) ?? 0) - committed))
  }
  finished = true
  await note("the last")
  await reading
  delays.sort((left, right) => left - right)
  process.stdout.write(
    `through nginx: from the answer of a change to its event ${delays[10]?.toFixed(1)} ms (median), ${delays.at(-1)?.toFixed(1)} ms (most)\n`
  )
  assert.isBelow(delays[10] ?? Number.POSITIVE_INFINITY, 1000)
})

it("the file of deploy/ keeps figures inside, passes the client's address on and takes the largest upload", async () => {
  assert.strictEqual((await fetch(`${server.url}/metrics`)).status, 200)
  await assertHidden(Number(new URL(nginx.deployedUrl).port))
  const headers = { "x-request-id": "by-nginx", "x-forwarded-for": "203.0.113.9" }
  await fetch(`${nginx.deployedUrl}/api/nowhere`, { headers })
  const line = await eventually("the line of the request", () =>
    server
      .log()
      .split("\n")
      .find((each) => each.includes("by-nginx"))
  )
  assert.strictEqual(JSON.parse(line).annotations.client, "127.0.0.1")
  const content = Buffer.alloc(25 * 1024 * 1024, "x").toString("base64")
  const sent = await fetch(`${nginx.deployedUrl}/api/sessions/${source.sessionId}/file-uploads`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${source.apiKey}`,
      "content-type": "application/json",
      "idempotency-key": "the-largest"
    },
    body: JSON.stringify({ path: "large.bin", content, encoding: "base64" })
  })
  assert.strictEqual(sent.status, 200, await sent.text())
})

it("without that header nginx would keep the events back until the stream ends", async () => {
  const chunks: Array<string> = []
  await readStream(
    { ...source, baseUrl: `${nginx.url}/deaf` },
    {
      query: "max_seconds=2",
      onResponse: (response) => response.on("data", (chunk) => chunks.push(String(chunk))),
      onBlock: () => true
    }
  )
  assert.match(chunks[0] ?? "", /^retry: 2000\n[\s\S]*event: stream\.end\n/)
})

it("a stream in which nothing happens beats every 15 s, and outlives the minute after which nginx gives up on a silent server", {
  timeout: 300_000
}, async () => {
  const before = await watermark()
  const beats: Array<number> = []
  const blocks: Array<Block> = []
  let last = 0
  await readStream(source, {
    query: `after=${before}`,
    onBlock: (block) => {
      blocks.push(block)
      if (isHeartbeat(block)) beats.push(performance.now())
      if (beats.length === 5 && last === 0) {
        last = -1
        void note("still there").then((seq) => {
          last = seq
        })
      }
      return block.id === undefined
    }
  })
  assert.strictEqual(blocks.at(-1)?.id, String(before + 1))
  assert.isTrue(blocks.slice(1, -1).every(isHeartbeat))
  const gaps = beats.slice(1).map((at, index) => at - (beats[index] ?? 0))
  process.stdout.write(`heartbeats through nginx: ${gaps.map((gap) => (gap / 1000).toFixed(2)).join(", ")} s apart\n`)
  assert.isAbove((beats.at(-1) ?? 0) - (beats[0] ?? 0), 59_000)
})

it("editors speak WebSocket through nginx with the file of deploy/", async () => {
  for (let count = 0; count < 6; count++) await assertSocket(nginx.deployedUrl, source.apiKey)
})

it("readers that are cut, and whose server is killed behind nginx, read each event once and in order", async () => {
  const goal = 120
  const readers = [...Array.from({ length: 6 }, () => bySse()), byClient, byClient]
  const reading = Promise.all(readers.map((follow) => follow(source, goal)))
  for (let seq = await watermark(); seq < goal; seq = await note("again")) {
    if (seq === 40 || seq === 80) {
      server.kill("SIGKILL")
      await server.ended
      server = await startServer(options)
    }
  }
  for (const sequence of await reading) assert.deepStrictEqual(sequence, upTo(goal))
})
