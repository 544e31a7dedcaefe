import type { ServerResponse } from "node:http"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Data, Effect, Fiber, Redacted, Stream, TestClock } from "effect"
import { type Client, items, make, ReinsClient, type ReinsClientError, type Run } from "../../src/effect/index.js"
import type { Session, TypedEvent } from "../../src/index.js"
import { type Answer, frame, json, openStream, refuse, type ScriptedServer, serve } from "../ScriptedServer.js"

const serving = (answer: Answer) =>
  Effect.acquireRelease(
    Effect.promise(() => serve(answer)),
    (server) => Effect.promise(() => server[Symbol.asyncDispose]())
  )

/** Moves the clock until the server has so many requests, since a request takes real time to arrive and to be answered. */
const advanceUntil = (server: ScriptedServer, requests: number, step: string & `${number} millis`) => {
  const advance: Effect.Effect<void> = Effect.suspend(() =>
    server.received.length >= requests
      ? Effect.void
      : TestClock.adjust(step).pipe(
          Effect.zipRight(Effect.promise(() => new Promise((next) => setImmediate(next)))),
          Effect.zipRight(advance)
        )
  )
  return advance
}

class NoTicket extends Data.TaggedError("NoTicket")<{ readonly message: string }> {}

describe("ReinsClient", () => {
  it("its types follow the contract", () => {
    expectTypeOf<ReturnType<Client["sessions"]["get"]>>().toEqualTypeOf<Effect.Effect<Session, ReinsClientError>>()
    expectTypeOf<ReturnType<Client["sessions"]["stream"]>>().toEqualTypeOf<
      Stream.Stream<TypedEvent, ReinsClientError>
    >()
    expectTypeOf<ReturnType<Client["run"]>>().toEqualTypeOf<Effect.Effect<Run, ReinsClientError>>()
  })

  it.scoped("an error of the API is in the error channel under its tag", () =>
    Effect.gen(function* () {
      const server = yield* serving((response) => refuse(response, 404, "not_found"))
      const status = yield* Effect.flatMap(ReinsClient, (reins) => reins.sessions.get({ session_id: "s" })).pipe(
        Effect.as(0),
        Effect.catchTag("ReinsApiError", (error) => Effect.succeed(error.status)),
        Effect.provide(ReinsClient.layer({ baseUrl: server.url, apiKey: Redacted.make("rk_x") }))
      )
      assert.strictEqual(status, 404)
      assert.strictEqual(server.received[0]?.headers.authorization, "Bearer rk_x")
    })
  )

  it.scoped("each run of an effect is a mutation of its own", () =>
    Effect.gen(function* () {
      const server = yield* serving((response) => json(response, 202, {}))
      const cancel = make({ baseUrl: server.url }).turns.cancel({ turn_id: "t" })
      yield* Effect.zipRight(cancel, cancel)
      assert.strictEqual(new Set(server.received.map((request) => request.headers["idempotency-key"])).size, 2)
    })
  )

  it.scoped("a wait that the server holds for as long as it may is not given up before its answer", () =>
    Effect.gen(function* () {
      let answer = () => {}
      const server = yield* serving((response) => {
        answer = () => json(response, 200, {})
      })
      const call = make({ baseUrl: server.url }).delegations.wait({ delegation_id: "d", timeout_seconds: 60 })
      const waiting = yield* Effect.fork(call)
      yield* Effect.promise(() => server.count(1))
      yield* TestClock.adjust("75 seconds")
      answer()
      yield* Fiber.join(waiting)
      assert.strictEqual(server.received.length, 1)
    })
  )

  it.scoped("a Retry-After is waited for", () =>
    Effect.gen(function* () {
      const server = yield* serving((response, _, ordinal) =>
        ordinal === 0
          ? refuse(response, 429, "rate_limited", { retryable: true, headers: { "retry-after": "30" } })
          : json(response, 200, {})
      )
      const began = yield* TestClock.currentTimeMillis
      // The try itself must not time out while the test moves the clock.
      const call = yield* Effect.fork(make({ baseUrl: server.url, timeoutMs: 1e9 }).accounts.getMe())
      yield* advanceUntil(server, 2, "1000 millis")
      assert.isAtLeast((yield* TestClock.currentTimeMillis) - began, 30_000)
      yield* Fiber.join(call)
    })
  )

  it.scoped("the waits between tries double from half a second to eight, less a quarter at most", () =>
    Effect.gen(function* () {
      const server = yield* serving((response) => refuse(response, 503, "shutting_down", { retryable: true }))
      yield* Effect.fork(make({ baseUrl: server.url, maxRetries: 7, timeoutMs: 1e9 }).accounts.getMe())
      yield* Effect.promise(() => server.count(1))
      for (const [index, delay] of [500, 1000, 2000, 4000, 8000, 8000].entries()) {
        const began = yield* TestClock.currentTimeMillis
        yield* advanceUntil(server, index + 2, "50 millis")
        assert.isAtLeast((yield* TestClock.currentTimeMillis) - began, delay * 0.75 - 50)
      }
    })
  )

  it.scoped("a stream that falls silent is opened again", () =>
    Effect.gen(function* () {
      const server = yield* serving((response, _, ordinal) => {
        openStream(response)
        response.write(frame(ordinal + 1))
      })
      const reading = yield* Effect.fork(
        Stream.runCollect(
          Stream.take(make({ baseUrl: server.url, timeoutMs: 1e9 }).sessions.stream({ session_id: "s" }), 2)
        )
      )
      yield* Effect.promise(() => server.count(1))
      yield* advanceUntil(server, 2, "1000 millis")
      assert.isAtLeast(yield* TestClock.currentTimeMillis, 45_000)
      assert.deepStrictEqual(
        [...(yield* Fiber.join(reading))].map((event) => event.seq),
        [1, 2]
      )
      assert.include(server.received[1]?.url, "after=1")
    })
  )

  it.scopedLive("an interrupted stream closes its connection", () =>
    Effect.gen(function* () {
      let close = () => {}
      const closed = new Promise<void>((resolve) => {
        close = resolve
      })
      const server = yield* serving((response) => {
        response.on("close", close)
        openStream(response)
      })
      const reading = yield* Effect.fork(
        Stream.runDrain(make({ baseUrl: server.url }).sessions.stream({ session_id: "s" }))
      )
      yield* Effect.promise(() => server.count(1))
      yield* Fiber.interrupt(reading)
      yield* Effect.promise(() => closed)
    })
  )

  it.scopedLive("a run gives its events, and its end", () =>
    Effect.gen(function* () {
      const turn = (state: string) => ({ turn: { id: "t", session_id: "s", state, outcome: { message_id: "m" } } })
      const message = { id: "m", content: [{ type: "text", text: "Done." }] }
      const server = yield* serving((response, request) => {
        if (request.method === "POST") return json(response, 202, { turn_id: "t", event_watermark: 3 })
        openStream(response)
        response.write(frame(4, "message.completed", { message }))
        response.write(frame(5, "turn.succeeded", turn("succeeded")))
        response.write(frame(6, "turn.queued", turn("queued")))
      })
      const run = yield* make({ baseUrl: server.url }).run({ session_id: "s", content: "x" })
      assert.strictEqual(`${run.sent.turn_id}`, "t")
      const seqs = yield* Stream.runCollect(Stream.map(run.events, ({ seq }) => seq))
      assert.deepStrictEqual([...seqs], [4, 5])
      assert.strictEqual((yield* run.final).turn.state, "succeeded")
      assert.strictEqual(yield* run.text, "Done.")
      expectTypeOf(run.events).toEqualTypeOf<Stream.Stream<TypedEvent, ReinsClientError>>()
    })
  )

  it.scopedLive(
    "a run answers the calls of its functions, each once, also when its events and its end are followed",
    () =>
      Effect.gen(function* () {
        const turn = (state: string) => ({ id: "t", session_id: "s", state, outcome: { message_id: null } })
        const interaction = (ticket: number) => ({
          id: `int_${ticket}`,
          state: "pending",
          tool: { name: "lookup_ticket", input: { ticket }, call_id: `call-${ticket}`, attempt: 1 }
        })
        const streams: Array<ServerResponse> = []
        const answers: Array<unknown> = []
        const server = yield* serving((response, { body, method, url }) => {
          if (url.endsWith("/messages")) return json(response, 202, { turn_id: "t", event_watermark: 3 })
          if (url.endsWith("/claims"))
            return json(response, 201, { claim_id: "claim_1", until: "2999-01-01T00:00:00.000Z", attempt: 1 })
          if (method === "POST") {
            answers.push(JSON.parse(body))
            json(response, 202, {})
            if (answers.length === 2)
              for (const each of streams) each.write(frame(6, "turn.succeeded", { turn: turn("succeeded") }))
            return
          }
          if (url.startsWith("/api/turns/")) return json(response, 200, { id: "t", result: { value: { ok: true } } })
          openStream(response)
          streams.push(response)
          for (const [index, ticket] of [7, 8].entries())
            response.write(
              frame(4 + index, "turn.action_required", {
                turn: turn("requires_action"),
                interaction: interaction(ticket)
              })
            )
        })
        const inputs: Array<unknown> = []
        const run = yield* make({ baseUrl: server.url }).run({
          session_id: "s",
          content: "Triage them.",
          result_schema: { type: "object" },
          tools: {
            lookup_ticket: {
              description: "Looks a ticket up.",
              input: { type: "object" },
              run: (input: { readonly ticket: number }) =>
                Effect.zipRight(
                  Effect.sync(() => inputs.push(input)),
                  input.ticket === 8 ? new NoTicket({ message: "There is no ticket 8." }) : Effect.succeed("Found.")
                )
            }
          }
        })
        const [events, final] = yield* Effect.all([Stream.runCollect(run.events), run.final], { concurrency: 2 })
        assert.deepStrictEqual(
          [...events].map(({ seq }) => seq),
          [4, 5, 6]
        )
        assert.deepStrictEqual([final.turn.state, final.result], ["succeeded", { ok: true }])
        assert.deepStrictEqual(
          new Set(answers.map((each) => JSON.stringify(each))),
          new Set([
            '{"claim_id":"claim_1","result":"Found."}',
            '{"claim_id":"claim_1","result":"There is no ticket 8.","is_error":true}'
          ])
        )
        assert.lengthOf(inputs, 2)
        const message: unknown = JSON.parse(server.received[0]?.body ?? "")
        assert.deepInclude(message, {
          tools: {
            functions: [{ name: "lookup_ticket", description: "Looks a ticket up.", input_schema: { type: "object" } }]
          }
        })
      })
  )

  it.scopedLive("the items of a list come page by page", () =>
    Effect.gen(function* () {
      const server = yield* serving((response, { url }) =>
        json(response, 200, {
          items: [{ id: url.includes("cursor") ? "sess_2" : "sess_1" }],
          next_cursor: url.includes("cursor") ? null : "next"
        })
      )
      const all = items(make({ baseUrl: server.url }).sessions.list, { workspace_id: "w" })
      expectTypeOf(all).toEqualTypeOf<Stream.Stream<Session, ReinsClientError>>()
      assert.deepStrictEqual(
        [...(yield* Stream.runCollect(Stream.map(all, ({ id }) => `${id}`)))],
        ["sess_1", "sess_2"]
      )
      assert.strictEqual([...(yield* Stream.runCollect(Stream.take(all, 1)))].length, 1)
      assert.strictEqual(server.received.length, 3)
    })
  )
})
