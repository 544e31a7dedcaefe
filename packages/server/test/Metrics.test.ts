import { assert, layer } from "@effect/vitest"
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
      const types = new Set([...text.matchAll(/^# TYPE (\w+) (?:gauge|histogram)$/gm)].map(([, name]) => name ?? ""))
      for (const line of text
        .trim()
        .split("\n")
        .filter((each) => !each.startsWith("#"))) {
        const [, name = "", value] = /^(\w+)(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? ([\d.e+-]+)$/.exec(line) ?? []
        assert.isDefined(value, line)
        assert.isTrue(types.has(name.replace(/_(?:bucket|sum|count)$/, "")) || types.has(name), line)
      }
    })
  )

  it.effect("count requests by route and status, and name nobody", () =>
    Effect.gen(function* () {
      const { account, bearer, key } = yield* Caller
      const { sessionId } = yield* newSession
      yield* send("GET", `/api/sessions/${sessionId}`, { headers: bearer })
      yield* send("GET", "/api/sessions/sess_none", { headers: bearer })
      yield* send("GET", "/api/me")
      yield* change("POST", "/api/api-keys", { headers: bearer, body: {} })
      const text = yield* read
      const count = (labels: string) => text.includes(`reins_http_request_duration_seconds_count{${labels}} 1\n`)
      assert.isTrue(count('method="GET",route="/api/sessions/{session_id}",status="404"'))
      assert.isTrue(count('method="GET",route="/api/me",status="401"'))
      assert.isTrue(count('method="POST",route="/api/api-keys",status="422"'))
      assert.match(text, /_bucket\{method="GET",route="\/api\/me",status="401",le="\+Inf"\} 1\n/)
      for (const name of [sessionId, account.id, account.email, key.id]) assert.notInclude(text, name)
    })
  )

  it.effect("count open streams, jobs that have not ended, and the memory of the process", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { events, sessionId } = yield* newSession
      const open = (text: string) =>
        Number(/in_progress\{method="GET",route="\/api\/sessions\/\{session_id\}\/events"\} (\d+)/.exec(text)?.[1])
      const stream = yield* openStream(events, bearer)
      assert.strictEqual(open(yield* read), 1)
      stream.close()
      yield* Effect.repeat(read, { until: (text) => open(text) === 0 })
      yield* change("POST", `/api/sessions/${sessionId}/messages`, { headers: bearer, body: { content: "Wait." } })
      const text = yield* read
      assert.match(text, /^reins_jobs\{state="queued"\} 1$/m)
      assert.match(text, /^process_resident_memory_bytes \d{7,}$/m)
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
