import { connect, createServer, type Server } from "node:net"
import { assert, layer } from "@effect/vitest"
import { AgentTraces } from "@reins/base/base/AgentTraces"
import { Database } from "@reins/core/store/Database"
import * as GenAiTraces from "@reins/server/genai/GenAiTraces"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { Context, Effect, Layer, Redacted, Schema, Tracer } from "effect"
import { Caller, change, type Reply, send, service } from "../Service.js"
import { newSession } from "../Sessions.js"

/** Answers of the database take so long that whatever is sent without waiting for one is sent before it. */
const wayMs = 20

/** Counts how often the service has waited for the database before it asked on. */
class RoundTrips extends Context.Tag("@reins/server/test/RoundTrips")<RoundTrips, { count: number }>() {}

/** A long way to the database. The bell, whose rings nobody waits for, goes it without being counted. */
const longWay = (url: Redacted.Redacted, roundTrips: { count: number }) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<Server>((resume) => {
        const { hostname, port } = new URL(Redacted.value(url))
        const proxy = createServer((client) => {
          const server = connect(Number(port), hostname)
          let isAnswered = true
          let isBell = false
          client.on("data", (bytes) => {
            isBell ||= bytes.includes("reins-bell")
            if (isAnswered && !isBell) roundTrips.count++
            isAnswered = false
            server.write(bytes)
          })
          server.on("data", (bytes) =>
            setTimeout(() => {
              isAnswered = true
              client.write(bytes)
            }, wayMs)
          )
          for (const socket of [client, server]) socket.on("error", () => {})
          client.once("close", () => server.end())
        })
        proxy.listen(0, "127.0.0.1", () => resume(Effect.succeed(proxy)))
      }),
      (proxy) => Effect.sync(() => proxy.close())
    ),
    (proxy) => {
      const through = new URL(Redacted.value(url))
      const address = proxy.address()
      through.host = `127.0.0.1:${typeof address === "object" ? address?.port : address}`
      return Redacted.make(through.href)
    }
  )

const farAway = (traces: Layer.Layer<AgentTraces>) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const roundTrips = { count: 0 }
      const databaseUrl = yield* longWay(yield* postgresDatabase, roundTrips)
      return Layer.merge(Layer.provide(service({ databaseUrl }), traces), Layer.succeed(RoundTrips, roundTrips))
    })
  )

/** Spans that nobody reads. The native tracer under another name makes them. */
const spans = Layer.unwrapEffect(Effect.map(Effect.tracer, (tracer) => Layer.setTracer(Tracer.make({ ...tracer }))))

const variants = [
  { name: "without traces", keeps: false, traces: Layer.succeed(AgentTraces, undefined) },
  {
    name: "with traces of agents",
    keeps: true,
    traces: Layer.provideMerge(GenAiTraces.layer({ content: false }), spans)
  }
]

/** The round trips of a request, alone: those with what the service does besides it are more. */
const roundTripsOf = <E, R>(status: number, request: Effect.Effect<Reply, E, R>) =>
  Effect.gen(function* () {
    const roundTrips = yield* RoundTrips
    const counted: Array<number> = []
    for (let time = 0; time < 6; time++) {
      const before = roundTrips.count
      assert.strictEqual((yield* request).status, status)
      counted.push(roundTrips.count - before)
    }
    return Math.min(...counted)
  })

const InWorkspace = Schema.Struct({ workspace_id: Schema.String })

for (const { keeps, name, traces } of variants)
  layer(farAway(traces), { excludeTestServices: true })(`on PostgreSQL, ${name}`, (it) => {
    it.effect("a request waits for the database this often at most", () =>
      Effect.gen(function* () {
        const { bearer: headers } = yield* Caller
        const { sessionId } = yield* newSession
        const session = `/api/sessions/${sessionId}`
        const read = send("GET", session, { headers })
        const { workspace_id } = yield* Schema.decodeUnknown(InWorkspace)((yield* read).json)
        const post = (path: string, body: object) => Effect.suspend(() => change("POST", path, { headers, body }))
        const { messages, workspace } = {
          messages: `${session}/messages`,
          workspace: `/api/workspaces/${workspace_id}`
        }

        assert.isAtMost(yield* roundTripsOf(200, read), 2, "reading a session")
        assert.isAtMost(
          yield* roundTripsOf(202, post(messages, { content: "hm", routing: "note" })),
          4,
          "posting a note"
        )
        assert.isAtMost(
          yield* roundTripsOf(201, post(`${workspace}/sessions`, { title: "new" })),
          7,
          "making a session"
        )
        assert.isAtMost(yield* roundTripsOf(202, post(messages, { content: "do it" })), 8, "sending a message")

        const { all, sql } = yield* Database
        const jobs = yield* all(sql<{ payload: string }>`select payload from jobs where kind = 'turn.run'`)
        assert.isNotEmpty(jobs)
        for (const { payload } of jobs) assert.strictEqual(payload.includes("traceparent"), keeps)
      })
    )
  })
