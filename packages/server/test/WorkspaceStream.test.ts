import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { WorkspaceId } from "@reins/base/domain/Ids"
import { Database } from "@reins/core/store/Database"
import { streamDefaults } from "@reins/server/EventStreams"
import { Server } from "@reins/server/Server"
import type { Block } from "@reins/testing/process/Blocks"
import { Effect, Fiber, Schedule } from "effect"
import { Caller, change, codeOf, newCaller, send } from "./Service.js"
import { append, appendListed, newSession, openStream } from "./Sessions.js"
import { serviceWith } from "./StreamService.js"

const isId = (id: number) => (block: Block) => block.id === String(id)
const isEnd = (block: Block) => block.event === "stream.end"
const idsOf = (blocks: ReadonlyArray<Block>) =>
  blocks.flatMap((block) => (block.id === undefined ? [] : [Number(block.id)]))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const accept = { accept: "text/event-stream" }

/** A new session, the events of its workspace, and the newest position in it. */
const begin = Effect.gen(function* () {
  const { bearer } = yield* Caller
  const { sessionId, workspace } = yield* newSession
  const stream = `${workspace}/events`
  const { json } = yield* send("GET", `${stream}?limit=1`, { headers: bearer })
  return { bearer, sessionId, workspace, stream, head: Number(Object(json).event_watermark) }
})

layer(serviceWith({ ...streamDefaults, heartbeat: "50 millis", patience: "3 seconds" }), {
  excludeTestServices: true
})("the stream of a workspace", (it) => {
  it.effect(
    "gives the log and then what is added, each once with its position, and nothing of the words of agents",
    () =>
      Effect.gen(function* () {
        const { bearer, head, sessionId, stream } = yield* begin
        yield* append(sessionId, 3)
        yield* appendListed(sessionId, 2)
        const opened = yield* openStream(stream, bearer)
        assert.strictEqual(opened.headers.get("content-type"), "text/event-stream")
        const replayed = yield* opened.until(isId(head + 2))
        assert.strictEqual(replayed[0]?.text, `retry: 2000\n: watermark ${head + 2}`)
        assert.deepStrictEqual(idsOf(replayed), range(1, head + 2))
        const { sessionId: second } = yield* newSession
        const live = yield* opened.until(({ data }) => data?.includes(second) === true)
        const created = JSON.parse(live.at(-1)?.data ?? "")
        assert.deepStrictEqual([created.type, created.seq, created.session_id], ["session.created", 1, second])
        const position = Number(live.at(-1)?.id)
        const page = yield* send("GET", `${stream}?after=${position - 1}&limit=1`, { headers: bearer })
        assert.deepStrictEqual(Object(page.json).items, [{ position, event: created }])
        assert.include(page.headers.get("vary") ?? "", "Accept")
        opened.close()
      })
  )

  it.effect("is filtered by type, project and label, and moves on past what it leaves out", () =>
    Effect.gen(function* () {
      const { bearer, head, sessionId, stream, workspace } = yield* begin
      const red = yield* change("POST", `${workspace}/sessions`, {
        headers: bearer,
        body: { labels: { colour: "red" } }
      })
      yield* appendListed(sessionId, 1)
      const newest = head + 2
      const byType = yield* openStream(`${stream}?after=${head}&types=session.created`, bearer)
      const blocks = yield* byType.until(isId(newest))
      assert.deepStrictEqual(idsOf(blocks), [head + 1, newest])
      assert.isUndefined(blocks.at(-1)?.data)
      byType.close()
      const byLabel = yield* send("GET", `${stream}?after=${head}&label=colour%3Dred&types=session.created`, {
        headers: bearer
      })
      assert.nestedPropertyVal(byLabel.json, "items[0].event.session_id", Object(red.json).id)
      assert.nestedPropertyVal(byLabel.json, "next_after", newest)
      const byProject = yield* send("GET", `${stream}?after=${head}&project_id=prj_none`, { headers: bearer })
      assert.deepStrictEqual(Object(byProject.json).items, [])
      for (const query of ["types=message.accepted", "types=x", "label=x", "after=x", "limit=1001"]) {
        const refused = yield* send("GET", `${stream}?${query}`, { headers: { ...bearer, ...accept } })
        assert.strictEqual(refused.status, 422, query)
      }
      for (const after of [-1, newest + 1]) {
        const refused = yield* send("GET", `${stream}?after=${after}`, { headers: { ...bearer, ...accept } })
        assert.deepStrictEqual([refused.status, codeOf(refused)], [400, "invalid_cursor"])
      }
    })
  )

  it.effect("cut again and again and resumed by the last id loses and repeats nothing", () =>
    Effect.gen(function* () {
      const { bearer, head, sessionId, stream } = yield* begin
      const { sessionId: second } = yield* newSession
      const first = head + 1
      const newest = first + 600
      const writer = yield* Effect.fork(
        Effect.forEach(
          [sessionId, second],
          (id) => Effect.forEach(range(1, 100), () => appendListed(id, 3), { discard: true }),
          { concurrency: 2, discard: true }
        )
      )
      const reader = (index: number) =>
        Effect.gen(function* () {
          const seen: Array<number> = [head]
          while (seen.at(-1) !== newest) {
            const last = seen.at(-1) ?? 0
            const opened = yield* openStream(stream, { ...bearer, "last-event-id": String(last) })
            const goal = Math.min(newest, last + 37 * index)
            seen.push(...idsOf(yield* opened.until((block) => Number(block.id) >= goal)))
            opened.close()
          }
          assert.deepStrictEqual(seen, range(head, newest))
        })
      yield* Effect.forEach(range(1, 6), reader, { concurrency: "unbounded", discard: true })
      yield* Fiber.join(writer)
    })
  )

  it.effect("is not there for other tenants, and ends for a member that is none any more", () =>
    Effect.gen(function* () {
      const { bearer, head, sessionId, stream, workspace } = yield* begin
      const { run, sql } = yield* Database
      const other = yield* newCaller()
      const hidden = yield* send("GET", stream, { headers: { ...other.bearer, ...accept } })
      assert.deepStrictEqual([hidden.status, codeOf(hidden)], [404, "not_found"])
      assert.strictEqual((yield* send("GET", stream, { headers: accept })).status, 401)
      const workspace_id = WorkspaceId.make(workspace.split("/").at(-1) ?? "")
      const created_at = new Date().toISOString()
      yield* run(
        sql`insert into workspace_members ${sql.insert({ workspace_id, account_id: other.account.id, role: "viewer", created_at })}`
      )
      const opened = yield* openStream(`${stream}?after=${head}`, other.bearer)
      yield* appendListed(sessionId, 1)
      yield* opened.until(isId(head + 1))
      yield* change("DELETE", `${workspace}/members/${other.account.id}`, { headers: bearer })
      const ended = yield* opened.until(isEnd)
      assert.deepStrictEqual(JSON.parse(ended.at(-1)?.data ?? ""), { reason: "refused", next_after: head + 1 })
    })
  )

  it.effect("one caller has at most 8 of a workspace, beside those of its sessions", () =>
    Effect.gen(function* () {
      const { bearer, stream } = yield* begin
      const { events } = yield* newSession
      const streams = yield* Effect.forEach(range(1, 8), () => openStream(stream, bearer))
      const refused = yield* send("GET", stream, { headers: { ...bearer, ...accept } })
      assert.deepStrictEqual([refused.status, codeOf(refused)], [429, "rate_limited"])
      const own = yield* openStream(events, bearer)
      assert.strictEqual(own.status, 200)
      for (const each of [...streams, own]) each.close()
    })
  )

  it.effect("a client that does not read is cut off alone", () =>
    Effect.gen(function* () {
      const { bearer, head, sessionId, stream } = yield* begin
      const { url } = yield* Server
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      socket.on("error", () => {})
      socket.write(
        `GET ${stream} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nauthorization: ${bearer.authorization}\r\n\r\n`
      )
      yield* Effect.async<void>((resume) => {
        socket.once("data", () => {
          socket.pause()
          resume(Effect.void)
        })
      })
      const reader = yield* openStream(`${stream}?after=${head}`, bearer)
      for (const count of range(1, 40)) {
        yield* appendListed(sessionId, 10, "x".repeat(50_000))
        assert.strictEqual((yield* reader.until(isId(head + 10 * count))).at(-1)?.id, String(head + 10 * count))
      }
      yield* Effect.repeat(
        Effect.sync(() => socket.write("\r\n")),
        { until: () => socket.destroyed, schedule: Schedule.spaced("50 millis") }
      )
      reader.close()
    })
  )
})
