import { assert, layer } from "@effect/vitest"
import { SessionId } from "@reins/base/domain/Ids"
import { Journal } from "@reins/core/store/Journal"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { aMoment } from "@reins/testing/process/Waiting"
import { Effect } from "effect"
import { Caller, change, send, service } from "./Service.js"
import { newSession, openStream } from "./Sessions.js"

layer(service({ metrics: true }), { excludeTestServices: true })("the metrics", (it) => {
  const read = Effect.map(send("GET", "/metrics"), ({ text }) => text)

  it.effect("are text that Prometheus reads: every sample is of a family that was described", () =>
    Effect.gen(function* () {
      const { headers, status, text } = yield* send("GET", "/metrics")
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
      const types = new Set(
        [...text.matchAll(/^# TYPE (\w+) (?:counter|gauge|histogram|summary)$/gm)].map(([, name]) => name ?? "")
      )
      for (const line of text
        .trim()
        .split("\n")
        .filter((each) => each !== "" && !each.startsWith("#"))) {
        const [, name = "", value] = /^(\w+)(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? ([\d.e+-]+|Nan)$/.exec(line) ?? []
        assert.isDefined(value, line)
        assert.isTrue(types.has(name.replace(/_(?:bucket|sum|count)$/, "")) || types.has(name), line)
      }
    })
  )

  it.effect("count requests by route and status, and name nobody", () =>
    Effect.gen(function* () {
      const { account, bearer, key } = yield* Caller
      // The figures are those of the process, which other tests may have served requests in.
      const countIn = (text: string, labels: string) =>
        Number(
          text
            .split("\n")
            .find((each) => each.startsWith(`reins_http_request_duration_seconds_count{${labels}} `))
            ?.split(" ")
            .at(-1) ?? 0
        )
      const before = yield* read
      const { sessionId } = yield* newSession
      yield* send("GET", `/api/sessions/${sessionId}`, { headers: bearer })
      yield* send("GET", "/api/sessions/sess_none", { headers: bearer })
      yield* send("GET", "/api/me")
      yield* change("POST", "/api/api-keys", { headers: bearer, body: {} })
      const text = yield* read
      for (const labels of [
        'method="GET",route="/api/sessions/{session_id}",status="404"',
        'method="GET",route="/api/me",status="401"',
        'method="POST",route="/api/api-keys",status="422"'
      ]) {
        assert.strictEqual(countIn(text, labels), countIn(before, labels) + 1, labels)
      }
      assert.match(text, /_bucket\{method="GET",route="\/api\/me",status="401",le="\+Inf"\} [1-9]\d*\n/)
      for (const name of [sessionId, account.id, account.email, key.id]) assert.notInclude(text, name)
    })
  )

  it.effect("count open streams, jobs that have not ended, and the memory of the process", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, sessionId } = yield* newSession
      const open = (text: string) => [
        Number(/in_progress\{method="GET",route="\/api\/sessions\/\{session_id\}\/events"\} (\d+)/.exec(text)?.[1]),
        Number(/^reins_event_streams_open (\d+)/m.exec(text)?.[1])
      ]
      const stream = yield* openStream(events, bearer)
      assert.deepStrictEqual(open(yield* read), [1, 1])
      stream.close()
      yield* Effect.repeat(Effect.zipRight(aMoment, read), {
        until: (text) => open(text).every((count) => count === 0)
      })
      yield* change("POST", `/api/sessions/${sessionId}/messages`, { headers: bearer, body: { content: "Wait." } })
      const text = yield* read
      assert.match(text, /^reins_jobs\{kind="[\w.]+",state="queued"\} 1$/m)
      assert.match(text, /^process_resident_memory_bytes \d{7,}$/m)
      assert.match(text, /^process_heap_used_bytes \d{7,}$/m)
      assert.match(text, /^process_uptime_seconds \d+$/m)
      assert.match(text, /^nodejs_eventloop_lag_seconds [\d.e-]+$/m)
    })
  )
})

layer(service({ metrics: true, blobs: { kind: "directory", path: "/nonexistent/reins-blobs" } }), {
  excludeTestServices: true
})("with a store of blobs", (it) => {
  it.effect("the metrics tell how many sessions have no snapshot of their newest state, and for how long", () =>
    Effect.gen(function* () {
      const unsealed = Effect.map(send("GET", "/metrics"), ({ text }) => [
        Number(/^reins_sessions_unsealed (\d+)$/m.exec(text)?.[1]),
        Number(/^reins_sessions_unsealed_seconds ([\d.]+)$/m.exec(text)?.[1])
      ])
      assert.deepStrictEqual(yield* unsealed, [0, 0])
      const { sessionId } = yield* newSession
      const { changed } = yield* Snapshots
      const journal = yield* Journal
      yield* journal.commit(changed(SessionId.make(sessionId)))
      const [sessions, seconds = 0] = yield* unsealed
      assert.strictEqual(sessions, 1)
      assert.isAtLeast(seconds, 0)
    })
  )
})

layer(service({ metrics: false }), { excludeTestServices: true })("without the setting", (it) => {
  it.effect("there are no metrics", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* send("GET", "/metrics")).status, 404)
    })
  )
})
