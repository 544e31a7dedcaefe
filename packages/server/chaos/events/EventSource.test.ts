import type { Reins } from "@reins/client"
import { eventTypes } from "@reins/core/Events"
import { type Browser, startBrowser } from "@reins/testing/browser/Browser"
import { newCaller, password } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { type ServerOptions, type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { upTo } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import type { Page } from "playwright-core"
import { afterEach, assert, beforeEach, it } from "vitest"

const place = placeForEachTest(inMemory)
let options: ServerOptions
let server: ServerProcess
let reins: Reins
let sessionId: string
let browser: Browser
let page: Page
/** The `Last-Event-ID` of each request for the stream that was answered; undefined where it has none. */
let lastEventIds: Array<string | undefined>

beforeEach(async () => {
  options = { dataDir: place.dataDir, args: ["--port", String(await steadyPort())] }
  server = await startServer(options)
  const caller = await newCaller(server, place.dataDir)
  reins = caller.at(server, { maxRetries: 20 })
  sessionId = await caller.newSession(reins)
  browser = await startBrowser()
  page = await browser.context.newPage()
  lastEventIds = []
  page.on("request", (request) => {
    if (request.url().includes("/events"))
      void request.allHeaders().then(
        (headers) => lastEventIds.push(headers["last-event-id"]),
        () => {}
      )
  })
  await page.goto(`${server.url}/docs`)
  const login = await page.evaluate(`fetch("/api/auth/login", {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": "login" },
    body: ${JSON.stringify(JSON.stringify({ email: "owner@example.com", password }))}
  }).then((response) => response.status)`)
  assert.strictEqual(login, 200)
})
afterEach(() => browser.close())

/** Opens the browser's own EventSource on the session. Its page does nothing for it to reconnect. */
const open = (query = "") =>
  page.evaluate(`
    window.seen = []
    window.ends = []
    window.source = new EventSource("/api/sessions/${sessionId}/events${query}")
    for (const type of ${JSON.stringify(eventTypes)}) {
      source.addEventListener(type, ({ data, lastEventId }) => {
        const { seq } = JSON.parse(data)
        seen.push(String(seq) === lastEventId ? seq : lastEventId + " is the id of " + seq)
      })
    }
    source.addEventListener("stream.end", ({ data }) => ends.push(JSON.parse(data)))
    0
  `)

interface Seen {
  readonly seen: ReadonlyArray<unknown>
  readonly ends: ReadonlyArray<{ readonly reason: string; readonly next_after: number }>
  readonly state: number
}

const look = (): Promise<Seen> => page.evaluate("({ seen, ends, state: source.readyState })")

const until = (holds: (seen: Seen) => boolean): Promise<Seen> =>
  eventually("the page has seen it", async () => {
    const now = await look()
    assert.notStrictEqual(now.state, 2, "the browser has given up")
    return holds(now) && now
  })

const write = async (count: number): Promise<number> => {
  let seq = 0
  for (let index = 0; index < count; index++)
    seq = (await reins.messages.send({ session_id: sessionId, content: "note", routing: "note" })).event_watermark
  return seq
}

it("EventSource reconnects by itself through kills and stops of the server, and is given each event once and in order", async () => {
  await open()
  let newest = await write(10)
  for (const signal of ["SIGKILL", "SIGTERM", "SIGKILL"] as const) {
    await until(({ seen }) => seen.length >= newest)
    const before = newest
    const writing = write(15)
    server.kill(signal)
    await server.ended
    server = await startServer(options)
    newest = await writing
    assert.strictEqual(newest, before + 15)
  }
  newest = await write(5)
  const { ends, seen } = await until(({ seen }) => seen.length >= newest)
  assert.deepStrictEqual(seen, upTo(newest))
  assert.deepStrictEqual(
    ends.map(({ reason }) => reason),
    ["shutdown"]
  )
  assert.isAtLeast(new Set(lastEventIds).size, 4)
})

it("EventSource goes on after the end of a stream where it was, also past events that its filter leaves out", async () => {
  await open("?max_seconds=1&types=session.*&after=1")
  let newest = 1
  let updates = 0
  for (let ends = 1; ends <= 3; ends++) {
    newest = (await write(2)) + 1
    await reins.sessions.update({ session_id: sessionId, title: `title ${updates++}` })
    await until((now) => now.ends.length >= ends)
  }
  const { ends, seen } = await until(({ seen }) => seen.length >= updates)
  assert.deepStrictEqual(
    seen,
    upTo(updates).map((ordinal) => 1 + 3 * ordinal)
  )
  assert.isTrue(ends.every(({ reason }) => reason === "max_seconds"))
  const last = await write(4)
  assert.strictEqual(last, newest + 4)
  await until(() => lastEventIds.includes(String(last)))
  assert.deepStrictEqual((await look()).seen, seen)
})
