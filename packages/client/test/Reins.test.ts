import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import {
  Reins,
  ReinsApiError,
  type ReinsClientError,
  ReinsConnectionError,
  ReinsValidationError
} from "../src/index.js"
import { json, refuse, serve } from "./ScriptedServer.js"

const apiKey = "rk_0123456789abcdefghijklmnopqrstuvwxyz"

const failure = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call
  } catch (error) {
    return error
  }
  return assert.fail("the call succeeded")
}

describe("Reins", () => {
  it("sends path, query, body, key and idempotency key, and gives back the JSON", async () => {
    await using server = await serve((response) => json(response, 201, { id: "sess_1" }))
    const reins = new Reins({ baseUrl: `${server.url}/under/`, apiKey: `${apiKey}\n` })
    const session = await reins.sessions.create({ workspace_id: "wsp/1", title: "x" })
    await reins.sessions.list({ workspace_id: "wsp_1", limit: 2, lifecycle: "open" })
    assert.deepStrictEqual(session, Object.assign({}, session, { id: "sess_1" }))
    const [create, list] = server.received
    assert.strictEqual(create?.method, "POST")
    assert.strictEqual(create?.url, "/under/api/workspaces/wsp%2F1/sessions")
    assert.strictEqual(create?.body, `{"title":"x"}`)
    assert.strictEqual(create?.headers.authorization, `Bearer ${apiKey}`)
    assert.strictEqual(create?.headers["content-type"], "application/json")
    assert.match(String(create?.headers["idempotency-key"]), /^[0-9a-f]{8}-[0-9a-f]{4}-4/)
    assert.strictEqual(list?.url, "/under/api/workspaces/wsp_1/sessions?limit=2&lifecycle=open")
    assert.isUndefined(list?.headers["idempotency-key"])
  })

  it("gives every mutation a new key unless the caller names one", async () => {
    await using server = await serve((response) => json(response, 202, { id: "turn_1" }))
    const reins = new Reins({ baseUrl: server.url, apiKey })
    await reins.turns.cancel({ turn_id: "t" })
    await reins.turns.cancel({ turn_id: "t" })
    await reins.turns.cancel({ turn_id: "t" }, { idempotencyKey: "mine" })
    const keys = server.received.map((request) => request.headers["idempotency-key"])
    assert.strictEqual(new Set(keys).size, 3)
    assert.strictEqual(keys[2], "mine")
    assert.isTrue(server.received.every((request) => request.body === ""))
  })

  it("calls without a key send none, and an answer without a body is undefined", async () => {
    await using server = await serve((response) => response.writeHead(204).end())
    assert.isUndefined(await new Reins({ baseUrl: server.url }).accounts.logout())
    assert.isUndefined(server.received[0]?.headers.authorization)
  })

  it("an error of the API is a ReinsApiError with everything that the server said", async () => {
    await using server = await serve((response) => refuse(response, 409, "turn_active"))
    const error = await failure(new Reins({ baseUrl: server.url, apiKey }).sessions.archive({ session_id: "s" }))
    assert.instanceOf(error, ReinsApiError)
    assert.instanceOf(error, Error)
    const { category, code, details, message, requestId, retryable, status } = error
    assert.deepStrictEqual(
      { category, code, details, message, requestId, retryable, status },
      {
        category: "state",
        code: "turn_active",
        details: { id: "x" },
        message: "It is turn_active.",
        requestId: "req_1",
        retryable: false,
        status: 409
      }
    )
    assert.match(error.stack ?? "", /^ReinsApiError: It is turn_active\.[\s\S]*Reins\.test\.ts/)
  })

  it("a code that is newer than the client is unknown, and its message names it", async () => {
    await using server = await serve((response) => refuse(response, 409, "brand_new"))
    const error = await failure(new Reins({ baseUrl: server.url }).sessions.archive({ session_id: "s" }))
    assert.instanceOf(error, ReinsApiError)
    assert.strictEqual(error.code, "unknown")
    assert.strictEqual(error.message, "It is brand_new. (brand_new)")
  })

  it("a malformed request is a ReinsValidationError that names the parts but not the values", async () => {
    const detail = [
      { loc: ["body", "password"], msg: "Field too short", type: "string_too_short", input: "hunter2" },
      { loc: ["query", "limit"], msg: "Not a number", type: "int_parsing", input: "abc" }
    ]
    await using server = await serve((response) => json(response, 422, { detail }, { "x-request-id": "req_2" }))
    const reins = new Reins({ baseUrl: server.url })
    const error = await failure(reins.accounts.register({ email: "a@b.c", password: "hunter2" }))
    assert.instanceOf(error, ReinsValidationError)
    assert.strictEqual(
      error.message,
      "The request is malformed: body.password: Field too short; query.limit: Not a number"
    )
    assert.deepStrictEqual(
      error.detail.map((issue) => issue.type),
      ["string_too_short", "int_parsing"]
    )
    assert.strictEqual(error.requestId, "req_2")
    assert.notInclude(inspect(error, { depth: 9 }), "hunter2")
    assert.strictEqual(server.received.length, 1)
  })

  it("the answer of a proxy is an error that says so", async () => {
    await using server = await serve((response, request) => {
      if (request.url.includes("moved"))
        response.writeHead(308, { location: "https://other.example/login?token=x" }).end()
      else response.writeHead(413, { "content-type": "text/html; charset=utf-8" }).end("<h1>Too large</h1>")
    })
    const reins = new Reins({ baseUrl: server.url })
    const html = await failure(reins.messages.send({ session_id: "s", content: "x" }))
    assert.instanceOf(html, ReinsApiError)
    assert.deepInclude(
      { ...html },
      { code: "unknown", status: 413, category: "request", retryable: false, requestId: null }
    )
    assert.include(html.message, "text/html")
    const moved = await failure(reins.sessions.get({ session_id: "moved" }))
    assert.instanceOf(moved, ReinsApiError)
    assert.include(moved.message, "https://other.example ")
  })

  it("an answer that is not JSON is a ReinsConnectionError", async () => {
    await using server = await serve((response) => response.writeHead(200).end("<html>"))
    const error = await failure(new Reins({ baseUrl: server.url, maxRetries: 0 }).accounts.getMe())
    assert.instanceOf(error, ReinsConnectionError)
    assert.strictEqual(error.reason, "unreadable")
  })

  it("a server that is not there is a ReinsConnectionError that says where and why", async () => {
    const server = await serve(() => undefined)
    await server[Symbol.asyncDispose]()
    const error = await failure(new Reins({ baseUrl: server.url, apiKey, maxRetries: 0 }).accounts.getMe())
    assert.instanceOf(error, ReinsConnectionError)
    assert.include(error.message, `GET ${server.url}/api/me failed: connect ECONNREFUSED`)
  })

  it("slow headers and slow bodies end with a timeout", async () => {
    await using server = await serve((response, request) => {
      if (request.url.includes("body")) response.writeHead(200).write("{")
    })
    const reins = new Reins({ baseUrl: server.url, maxRetries: 0, timeoutMs: 30 })
    for (const session_id of ["headers", "body"]) {
      const error = await failure(reins.sessions.get({ session_id }))
      assert.instanceOf(error, ReinsConnectionError)
      assert.strictEqual(error.reason, "timeout")
    }
  })

  it("an aborted call rejects with the reason of its signal and closes the connection", async () => {
    let close = () => {}
    const closed = new Promise<void>((resolve) => {
      close = resolve
    })
    await using server = await serve((response) => response.on("close", close))
    const reins = new Reins({ baseUrl: server.url })
    const controller = new AbortController()
    const call = failure(reins.sessions.get({ session_id: "s" }, { signal: controller.signal }))
    await server.count(1)
    const reason = new Error("enough")
    controller.abort(reason)
    assert.strictEqual(await call, reason)
    await closed
    assert.strictEqual(await failure(reins.accounts.getMe({}, { signal: controller.signal })), reason)
    assert.strictEqual(server.received.length, 1)
  })

  it("a missing path parameter rejects with a TypeError that names it", async () => {
    const reins = new Reins({ baseUrl: "http://127.0.0.1:1" })
    const error = await failure(reins.sessions.get({ session_id: "" }))
    assert.instanceOf(error, TypeError)
    assert.include(error.message, `sessions.get needs "session_id"`)
  })

  it("options that cannot work are refused without being repeated", () => {
    const refused = (options: ConstructorParameters<typeof Reins>[0], secret: string) => {
      try {
        new Reins(options)
      } catch (error) {
        assert.instanceOf(error, TypeError)
        assert.notInclude(inspect(error), secret)
        return
      }
      assert.fail("accepted")
    }
    refused({ baseUrl: "hunter2.example" }, "hunter2")
    refused({ baseUrl: "ftp://example.com" }, "ftp:")
    refused({ baseUrl: "https://user:hunter2@example.com" }, "hunter2")
    refused({ baseUrl: "https://example.com", apiKey: "rk_se\ncret" }, "cret")
    refused({ baseUrl: "https://example.com", apiKey: "" }, "rk_")
  })

  it("the key appears neither in the client nor in an error", async () => {
    await using server = await serve((response, request) => {
      if (request.url.includes("refused")) {
        json(response, 400, { error: { code: "invalid_cursor", message: `sent ${request.headers.authorization}` } })
      } else response.writeHead(502).end(`<pre>${JSON.stringify(request.headers)}</pre>`)
    })
    const leaking: typeof fetch = async (_, init) => {
      throw new Error(`cannot send ${new Headers(init?.headers).get("authorization")}`)
    }
    const reins = new Reins({ baseUrl: server.url, apiKey, maxRetries: 0 })
    const errors = [
      await failure(reins.sessions.get({ session_id: "refused" })),
      await failure(reins.sessions.get({ session_id: "proxy" })),
      await failure(new Reins({ baseUrl: server.url, apiKey, maxRetries: 0, fetch: leaking }).accounts.getMe()),
      await failure(reins.sessions.stream({ session_id: "proxy" }).next())
    ]
    for (const seen of [reins, reins.sessions, ...errors]) {
      const text = `${inspect(seen, { depth: 20, showHidden: true, getters: true })}${JSON.stringify(seen)}${String(seen)}`
      assert.notInclude(text, apiKey)
    }
    assert.include(String(errors[0]), "sent Bearer [redacted]")
  })

  it("the errors tell themselves apart by their tag", async () => {
    const status = (error: ReinsClientError): number => {
      switch (error._tag) {
        case "ReinsApiError":
        case "ReinsValidationError":
          return error.status
        case "ReinsConnectionError":
          return 0
      }
    }
    assert.strictEqual(status(new ReinsConnectionError({ reason: "timeout", message: "" })), 0)
  })
})
