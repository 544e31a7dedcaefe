import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { otlpOf } from "@reins/server/Telemetry"
import { killServers, startServer } from "@reins/testing/process/ServerProcess"
import { Effect } from "effect"

const place = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-telemetry-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** The requests to a collector, by the paths of OTLP, with the key of each. */
const collector = Effect.acquireRelease(
  Effect.promise(async () => {
    const received = new Map<string, string>()
    const keys = new Set<unknown>()
    const server = createServer((request, response) => {
      let body = ""
      request.on("data", (chunk) => {
        body += String(chunk)
      })
      request.on("end", () => {
        keys.add(request.headers["x-key"])
        received.set(request.url ?? "", (received.get(request.url ?? "") ?? "") + body)
        response.end("{}")
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    return { endpoint: `http://127.0.0.1:${port}`, keys, received, server }
  }),
  ({ server }) => Effect.sync(() => server.close())
)

const serve = (dataDir: string, env: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.promise(() => startServer({ dataDir, env: { REINS_LOG_LEVEL: "info", ...env } })),
    () => Effect.promise(killServers)
  )

const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
const parent = "00f067aa0ba902b7"

describe("a server with OTEL_EXPORTER_OTLP_ENDPOINT", () => {
  it.scopedLive("sends what it did as traces below the caller's, figures and logs", () =>
    Effect.gen(function* () {
      const { endpoint, keys, received } = yield* collector
      const server = yield* serve(yield* place, {
        OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20secret",
        OTEL_SERVICE_NAME: "reins-of-a-test",
        REINS_METRICS: "off"
      })
      const call = (flags: string) =>
        fetch(`${server.url}/api/sessions/sess_x`, { headers: { traceparent: `00-${trace}-${parent}-${flags}` } })
      const { status } = yield* Effect.promise(() => call("01"))
      assert.strictEqual(status, 401)
      assert.strictEqual((yield* Effect.promise(() => fetch(`${server.url}/metrics`))).status, 404)
      server.kill("SIGTERM")
      assert.deepStrictEqual(yield* Effect.promise(() => server.ended), { code: 0, signal: null })

      const traces = received.get("/v1/traces") ?? ""
      assert.include(traces, `"traceId":"${trace}"`)
      assert.include(traces, `"parentSpanId":"${parent}"`)
      assert.include(traces, '"name":"GET /api/sessions/{session_id}"')
      assert.match(traces, /"key":"http\.response\.status_code","value":\{"intValue":"?401"?\}/)
      assert.include(traces, '"stringValue":"reins-of-a-test"')
      assert.include(received.get("/v1/metrics"), "reins_http_request_duration_seconds")
      assert.include(received.get("/v1/metrics"), "reins_event_loop_lag_seconds")
      assert.include(received.get("/v1/logs"), '"stringValue":"/api/sessions/sess_x"')
      assert.deepStrictEqual([...keys], ["a secret"])
      assert.notInclude([...received.values(), server.log()].join(), "a secret")
    })
  )

  it.scopedLive("serves and stops as ever while nobody collects", () =>
    Effect.gen(function* () {
      const server = yield* serve(yield* place, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" })
      const { status } = yield* Effect.promise(() => fetch(`${server.url}/readyz`))
      assert.strictEqual(status, 200)
      server.kill("SIGTERM")
      assert.deepStrictEqual(yield* Effect.promise(() => server.ended), { code: 0, signal: null })
    })
  )
})

describe("the variables of OpenTelemetry", () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:4318"

  it.effect("say where to, as whom and with which headers", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* otlpOf({ OTEL_EXPORTER_OTLP_ENDPOINT }), {
        endpoint: OTEL_EXPORTER_OTLP_ENDPOINT,
        protocol: "http/protobuf",
        headers: {},
        serviceName: "reins"
      })
      const given = yield* otlpOf({
        OTEL_EXPORTER_OTLP_ENDPOINT,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20x, x-team = blue=green ,",
        OTEL_SERVICE_NAME: "ours"
      })
      assert.deepStrictEqual(given?.headers, { authorization: "Bearer x", "x-team": "blue=green" })
      assert.deepStrictEqual([given?.protocol, given?.serviceName], ["http/json", "ours"])
    })
  )

  it.effect("turn nothing on when they are empty or say so", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* otlpOf({ OTEL_SERVICE_NAME: "ours" }))
      assert.isUndefined(yield* otlpOf({ OTEL_EXPORTER_OTLP_ENDPOINT: "" }))
      assert.isUndefined(yield* otlpOf({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: "true" }))
    })
  )

  it.effect("that cannot be followed are refused by name, without their value", () =>
    Effect.gen(function* () {
      for (const [name, value] of [
        ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"],
        ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
        ["OTEL_EXPORTER_OTLP_HEADERS", "Bearer canary"]
      ] as const) {
        const { message } = yield* Effect.flip(otlpOf({ OTEL_EXPORTER_OTLP_ENDPOINT, [name]: value }))
        assert.match(message, new RegExp(`^${name} has to be`))
        assert.notInclude(message, "canary")
      }
    })
  )
})
