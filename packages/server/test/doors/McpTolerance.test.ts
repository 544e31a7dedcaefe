import { assert, describe, layer } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { Server } from "@reins/server/Server"
import { Effect } from "effect"
import { change, service } from "../Service.js"
import { newPerson } from "./OauthPerson.js"
import { newSession } from "./OauthService.js"

const publicUrl = new URL("https://nas.example:8443")

interface Answer {
  readonly status: number
  readonly type: string
  readonly text: string
  /** The message of the answer, in whichever form it came. */
  readonly message: {
    readonly result?: Record<string, unknown>
    readonly error?: { readonly code: number; readonly message: string }
  }
}

/** A request to `/mcp` with exactly these headers, besides a good key. */
const post = (bearer: object, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  Effect.flatMap(Server, ({ url }) =>
    Effect.promise(async (): Promise<Answer> => {
      const answer = await fetch(`${url}/mcp`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...bearer,
          ...headers
        },
        body: typeof body === "string" ? body : JSON.stringify(body)
      })
      const text = await answer.text()
      const data = /^data: (.*)$/m.exec(text)?.[1] ?? text
      const type = answer.headers.get("content-type") ?? ""
      return { status: answer.status, type, text, message: data.startsWith("{") ? JSON.parse(data) : {} }
    })
  )

const initialize = (protocolVersion: string, more: object = {}) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" }, ...more }
})

const call = (name: string, given?: unknown) => ({
  jsonrpc: "2.0",
  id: 2,
  method: "tools/call",
  params: { name, ...(given !== undefined && { arguments: given }) }
})

/** The words of a refusal, however it came; undefined for a call that was taken. */
const refusalIn = ({ message: { error, result } }: Answer): string | undefined => {
  if (error !== undefined) return error.message
  return result?.["isError"] === true ? JSON.stringify(result["content"]) : undefined
}

const fieldsOf = ({ message }: Answer) => message.result?.["structuredContent"] as Readonly<Record<string, unknown>>

describe("clients that are not as exact as the protocol", () => {
  layer(service({ publicUrl }), { excludeTestServices: true })((it) => {
    it.effect("are answered whatever they accept, with a stream where they name one", () =>
      Effect.gen(function* () {
        const { bearer } = yield* newPerson
        const asStream = [
          "application/json, text/event-stream",
          "text/event-stream",
          "Application/JSON, TEXT/Event-Stream",
          "application/json;q=0.9, text/event-stream;q=0.8",
          "text/event-stream;charset=utf-8"
        ]
        const asJson = [
          "application/json",
          "*/*",
          "",
          "text/html",
          "application/*",
          "text/event-stream;q=0, */*",
          ";,;",
          "x".repeat(5000)
        ]
        for (const accept of [...asStream, ...asJson]) {
          const { message, status, type } = yield* post(bearer, initialize("2025-06-18"), { accept })
          assert.deepInclude(message.result, { protocolVersion: "2025-06-18" }, `${status}: ${accept}`)
          assert.include(type, asStream.includes(accept) ? "text/event-stream" : "application/json", accept)
        }
        const batch = [call("list_sessions"), { ...call("list_projects"), id: 3 }]
        const { text, type } = yield* post(bearer, batch, { accept: "application/json" })
        assert.include(type, "application/json")
        const answers = JSON.parse(text) as ReadonlyArray<{ readonly id: number }>
        assert.deepStrictEqual(new Set(answers.map(({ id }) => id)), new Set([2, 3]))
      })
    )

    it.effect("may mean nothing by null and an empty text, and the same by a number, a text and a list", () =>
      Effect.gen(function* () {
        const person = yield* newPerson
        const session_id = yield* newSession(person, person.workspaceId)
        const { message } = yield* post(person.bearer, { jsonrpc: "2.0", id: 1, method: "tools/list", params: null })
        const tools = message.result?.["tools"] as ReadonlyArray<{
          readonly name: string
          readonly inputSchema: { readonly properties: object; readonly required?: ReadonlyArray<string> }
        }>
        const given: Readonly<Record<string, object>> = {
          wait: { session_id, seconds: 0 },
          get_session: { session_id },
          list_sessions: {},
          list_projects: {}
        }
        const taken: Array<readonly [name: string, input: unknown]> = [
          ["list_sessions", undefined],
          ["list_sessions", null],
          ["list_sessions", ""],
          ["list_sessions", "{}"],
          ["list_sessions", '{"limit":"5"}'],
          ["list_sessions", { limit: " 5 ", cursor: "" }],
          ["list_sessions", { limit: "5.0", reasoning: "because" }],
          ["wait", { session_id, after: "0", seconds: "0" }],
          ["wait", JSON.stringify({ session_id, after: null, seconds: 0 })]
        ]
        for (const { inputSchema, name } of tools)
          if (given[name] !== undefined)
            for (const nothing of [null, "", "  "]) {
              const required = new Set(inputSchema.required)
              const optional = Object.keys(inputSchema.properties).filter((each) => !required.has(each))
              taken.push([name, { ...Object.fromEntries(optional.map((each) => [each, nothing])), ...given[name] }])
            }
        for (const [name, input] of taken)
          assert.isUndefined(
            refusalIn(yield* post(person.bearer, call(name, input))),
            `${name} ${JSON.stringify(input)}`
          )
        const refused: ReadonlyArray<readonly [name: string, input: unknown, field: string]> = [
          ["list_sessions", { limit: "many" }, "limit"],
          ["list_sessions", { limit: "0x10" }, "limit"],
          ["list_sessions", { limit: 0 }, "limit"],
          ["list_sessions", { limit: [] }, "limit"],
          ["get_session", { session_id: null }, "session_id"],
          ["get_session", undefined, "session_id"],
          ["wait", { session_id, seconds: "9".repeat(50) }, "seconds"],
          ["list_sessions", "{", "arguments"],
          ["list_sessions", [], "arguments"]
        ]
        for (const [name, input, field] of refused)
          assert.include(refusalIn(yield* post(person.bearer, call(name, input))) ?? "", field, JSON.stringify(input))
      })
    )

    it.effect("learn that a model is missing, also where the models cannot be listed", () =>
      Effect.gen(function* () {
        const { bearer, workspaceId } = yield* newPerson
        const credential = { base_url: "http://127.0.0.1:9/v1", api_key: "nobody listens there" }
        const body = { kind: "alpha_gateway", label: "test", credential }
        const made = yield* change("POST", `/api/workspaces/${workspaceId}/connections`, { headers: bearer, body })
        assert.strictEqual(made.status, 201, made.text)
        const names = ["project_id", "repository_url", "ref", "provider_id", "model", "title", "max_cost_usd"]
        for (const nothing of [undefined, "", null]) {
          const given = nothing === undefined ? [] : names.map((name) => [name, nothing])
          const input = { message: "hello", ...Object.fromEntries(given) }
          const words = refusalIn(yield* post(bearer, call("start_session", input)))
          assert.match(words ?? "", /model_required: Call it again with provider_id.*cannot be listed: upstream_error/)
        }
      })
    )

    it.effect("speak versions of yesterday and of tomorrow, and of none", () =>
      Effect.gen(function* () {
        const { bearer } = yield* newPerson
        const agreed: Readonly<Record<string, string>> = {
          "2024-11-05": "2024-11-05",
          "2025-03-26": "2025-03-26",
          "2025-11-25": "2025-11-25",
          "2027-01-01": "2025-11-25",
          "2099-12-31": "2025-11-25",
          "1.0": "2025-11-25",
          "": "2025-11-25"
        }
        for (const [asked, given] of Object.entries(agreed)) {
          const { message } = yield* post(
            bearer,
            initialize(asked),
            asked.includes("-") ? { "mcp-protocol-version": asked } : {}
          )
          assert.deepInclude(message.result, { protocolVersion: given }, asked)
        }
        const list = { jsonrpc: "2.0", id: 1, method: "tools/list" }
        for (const version of ["2024-11-05", "2025-11-25", "2027-01-01", "2099-12-31"])
          assert.isDefined((yield* post(bearer, list, { "mcp-protocol-version": version })).message.result, version)
        for (const version of ["1999-01-01", "tomorrow", "2"])
          assert.strictEqual((yield* post(bearer, list, { "mcp-protocol-version": version })).status, 400, version)
        // A request that claims a version of its own learns which there are.
        const claimed = { ...list, params: { _meta: { "io.modelcontextprotocol/protocolVersion": "2099-01-01" } } }
        assert.strictEqual((yield* post(bearer, claimed)).status, 400)
      })
    )

    it.effect("begin anew where their session is gone, and learn of a body that is none", () =>
      Effect.gen(function* () {
        const { bearer } = yield* newPerson
        const of = { "mcp-session-id": "0f3b" }
        const list = { jsonrpc: "2.0", id: 1, method: "tools/list" }
        for (const message of [list, call("list_sessions"), { jsonrpc: "2.0", method: "notifications/initialized" }])
          assert.deepInclude(yield* post(bearer, message, of), { status: 404 }, JSON.stringify(message))
        assert.strictEqual((yield* post(bearer, initialize("2025-06-18"), of)).status, 200)
        for (const body of [
          "",
          "{",
          "null",
          "7",
          "hello",
          "\ufeff{}",
          "[".repeat(100_000),
          `{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`
        ]) {
          const { message, status } = yield* post(bearer, body)
          assert.strictEqual(status, 400, body.slice(0, 20))
          assert.isBelow(message.error?.code ?? 0, 0, body.slice(0, 20))
        }
        const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_sessions","arguments":{"x":${"[".repeat(50_000)}${"]".repeat(50_000)}}}}`
        assert.include([200, 400], (yield* post(bearer, deep)).status)
        for (const id of [null, {}, [], true])
          assert.strictEqual((yield* post(bearer, { ...list, id })).status, 400, JSON.stringify(id))
      })
    )

    it.effect("see the newest turn of a session of any length", () =>
      Effect.gen(function* () {
        const person = yield* newPerson
        const session_id = yield* newSession(person, person.workspaceId)
        const { all, first, run, sql } = yield* Database
        yield* post(person.bearer, call("send_message", { session_id, message: "Begin.", routing: "QUEUE" }))
        const turn =
          (yield* first(sql<Record<string, unknown>>`select * from turns where session_id = ${session_id}`)) ?? {}
        const many = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)`
        const other: Readonly<Record<string, string>> = {
          id: "substr(turns.id, 1, 21) || (10000 + n.i)",
          ordinal: "1 + n.i",
          state: "case n.i when 1000 then 'running' else 'cancelled' end"
        }
        const columns = Object.keys(turn)
        const copied = columns.map((column) => other[column] ?? `turns.${column}`)
        yield* run(sql`update turns set state = 'cancelled' where session_id = ${session_id}`)
        yield* run(sql`${many} insert into turns (${sql.literal(columns.join(", "))})
          select ${sql.literal(copied.join(", "))} from turns, n where turns.session_id = ${session_id}`)
        const rows = yield* all(
          sql<{ id: string }>`select id from turns where session_id = ${session_id} order by ordinal`
        )
        assert.lengthOf(rows, 1001)
        const newest = { id: rows.at(-1)?.id, state: "running" }
        const read = fieldsOf(yield* post(person.bearer, call("get_session", { session_id })))
        assert.deepInclude(read["turn"] as object, newest)
        const waited = fieldsOf(yield* post(person.bearer, call("wait", { session_id, seconds: 0 })))
        assert.deepInclude(waited["turn"] as object, newest)
        assert.isFalse(waited["ended"])
      })
    )

    it.effect("wait for a place instead of being refused, and do not hold up quick calls", () =>
      Effect.gen(function* () {
        const person = yield* newPerson
        const session_id = yield* newSession(person, person.workspaceId)
        const waits = Array.from({ length: 60 }, () => post(person.bearer, call("wait", { session_id, seconds: 0 })))
        const lists = Array.from({ length: 40 }, () => post(person.bearer, call("list_sessions")))
        const answers = yield* Effect.all([...waits, ...lists], { concurrency: "unbounded" })
        assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
        for (const answer of answers) assert.isUndefined(refusalIn(answer))
      })
    )
  })
})
