import { assert, describe, it } from "@effect/vitest"
import { Reins, ReinsApiError, ReinsConnectionError } from "../src/index.js"
import { type Answer, json, refuse, serve } from "./ScriptedServer.js"

/** The first request is answered by the script, the rest with success. */
const once =
  (first: Answer): Answer =>
  (response, request, ordinal) =>
    ordinal === 0 ? first(response, request, ordinal) : json(response, 200, { id: "ok" })

const soon = { "retry-after": "0" }

const repeated: Record<string, Answer> = {
  "a 503": (response) => refuse(response, 503, "shutting_down", { retryable: true, headers: soon }),
  "a 429": (response) => refuse(response, 429, "rate_limited", { retryable: true, headers: soon }),
  "a retryable 409": (response) => refuse(response, 409, "idempotency_in_progress", { retryable: true, headers: soon }),
  "a 408 of a proxy": (response) => response.writeHead(408, soon).end(),
  "a 502 of a proxy": (response) => response.writeHead(502, soon).end("<html>"),
  "X-Should-Retry: true": (response) =>
    refuse(response, 409, "turn_active", { headers: { ...soon, "x-should-retry": "true" } }),
  "a dropped connection": (response) => response.destroy(),
  "a cut body": (response) => {
    response.writeHead(200, { "content-length": "100" }).write("{")
    setImmediate(() => response.destroy())
  },
  "malformed JSON": (response) => response.writeHead(200).end(`{"id":`)
}

const final: Record<string, Answer> = {
  "a 409 that is not retryable": (response) => refuse(response, 409, "turn_active"),
  "a quota that is used up": (response) => refuse(response, 429, "quota_exhausted"),
  "X-Should-Retry: false": (response) =>
    refuse(response, 503, "waiting_capacity", { retryable: true, headers: { "x-should-retry": "false" } }),
  "a replayed answer": (response) =>
    refuse(response, 409, "version_conflict", { retryable: true, headers: { "idempotency-replayed": "true" } }),
  "a Retry-After beyond a minute": (response) =>
    refuse(response, 429, "rate_limited", { retryable: true, headers: { "retry-after": "61" } })
}

describe("Retries", () => {
  for (const [name, answer] of Object.entries(repeated)) {
    it(`${name} is repeated with the same idempotency key`, async () => {
      await using server = await serve(once(answer))
      const { id } = await new Reins({ baseUrl: server.url }).sessions.close({ session_id: "s" })
      assert.strictEqual(`${id}`, "ok")
      const [first, second, third] = server.received.map((request) => request.headers["idempotency-key"])
      assert.isString(first)
      assert.strictEqual(second, first)
      assert.isUndefined(third)
    })
  }

  for (const [name, answer] of Object.entries(final)) {
    it(`${name} is not repeated`, async () => {
      await using server = await serve(once(answer))
      const error = await new Reins({ baseUrl: server.url }).sessions
        .close({ session_id: "s" })
        .catch((error: unknown) => error)
      assert.instanceOf(error, ReinsApiError)
      assert.strictEqual(server.received.length, 1)
      if (name.startsWith("a Retry-After")) assert.strictEqual(error.retryAfterSeconds, 61)
    })
  }

  const words: Record<string, unknown> = {
    "an error with a digest, as of Next.js": Object.assign(new Error("Dynamic server usage"), {
      digest: "DYNAMIC_SERVER_USAGE"
    }),
    "an error with its code": Object.assign(new Error("bail out"), { code: "NEXT_STATIC_GEN_BAILOUT" }),
    "a value of React": { $$typeof: Symbol.for("react.postpone") },
    "a promise": new Promise(() => {})
  }
  for (const [name, word] of Object.entries(words)) {
    it(`${name} is passed on to its framework at once, by a call and by a stream`, async () => {
      let asked = 0
      const fetch = () => {
        asked++
        throw word
      }
      const { sessions } = new Reins({ baseUrl: "http://127.0.0.1:1", fetch })
      const thrown = (work: Promise<unknown>) =>
        work.then(
          () => assert.fail("It was answered."),
          (error: unknown) => ({ error })
        )
      assert.strictEqual((await thrown(sessions.get({ session_id: "s" }))).error, word)
      const stream = sessions.stream({ session_id: "s" })[Symbol.asyncIterator]()
      assert.strictEqual((await thrown(stream.next())).error, word)
      assert.strictEqual(asked, 2)
    })
  }

  it("gives up after maxRetries with the last error", async () => {
    await using server = await serve((response) =>
      refuse(response, 503, "shutting_down", { retryable: true, headers: soon })
    )
    const error = await new Reins({ baseUrl: server.url, maxRetries: 3 }).accounts
      .getMe()
      .catch((error: unknown) => error)
    assert.instanceOf(error, ReinsApiError)
    assert.strictEqual(error.code, "shutting_down")
    assert.strictEqual(server.received.length, 4)
  })

  it("a try that took too long is repeated", async () => {
    await using server = await serve(once(() => undefined))
    await new Reins({ baseUrl: server.url, timeoutMs: 100 }).accounts.getMe()
    assert.strictEqual(server.received.length, 2)
  })

  it("an abort ends the wait for the next try", async () => {
    await using server = await serve((response) =>
      refuse(response, 503, "shutting_down", { retryable: true, headers: { "retry-after": "50" } })
    )
    const controller = new AbortController()
    const call = new Reins({ baseUrl: server.url }).accounts
      .getMe({}, { signal: controller.signal })
      .catch((error: unknown) => error)
    await server.count(1)
    controller.abort(new Error("enough"))
    const error = await call
    assert.notInstanceOf(error, ReinsConnectionError)
    assert.strictEqual(String(error), "Error: enough")
  })
})
