import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Server } from "@reins/server/Server"
import { Effect } from "effect"
import { Caller, change, newCaller, newKey, send, service } from "../Service.js"

/** Sends a request with these lines of headers as they are, and gives its answer. */
const exchange = (method: string, path: string, headers: ReadonlyArray<string>, body = "") =>
  Effect.flatMap(Server, ({ url }) =>
    Effect.async<{ readonly status: number; readonly text: string }>((resume) => {
      const { host, hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      let text = ""
      socket.on("data", (chunk) => {
        text += String(chunk)
      })
      socket.on("close", () => resume(Effect.succeed({ status: Number(text.split(" ")[1]), text })))
      const all = [`Host: ${host}`, "Connection: close", `Content-Length: ${Buffer.byteLength(body)}`, ...headers]
      socket.write(`${method} ${path} HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n${body}`)
    })
  )

const given = Effect.gen(function* () {
  const { bearer } = yield* Caller
  const other = yield* newCaller()
  const list = yield* send("GET", "/api/workspaces", { headers: bearer })
  const workspace = `/api/workspaces/${/"(wsp_\w+)"/.exec(list.text)?.[1]}`
  return { key: bearer.authorization, otherKey: other.bearer.authorization, workspace }
})

let slugs = 0
const project = () => JSON.stringify({ slug: `one-${++slugs}`, name: "One" })
const json = "Content-Type: application/json"

layer(service(), { excludeTestServices: true })("a header that takes one value", (it) => {
  it.effect("is refused by its name when it is given twice, and nothing is done", () =>
    Effect.gen(function* () {
      const { key, otherKey, workspace } = yield* given
      const authorization = `Authorization: ${key}`
      const twice: Readonly<Record<string, readonly [string, string]>> = {
        "Idempotency-Key": [`Idempotency-Key: ${newKey()}`, `idempotency-key: ${newKey()}`],
        Authorization: [authorization, `AUTHORIZATION: ${otherKey}`],
        "Content-Type": [json, "content-type: text/plain"],
        "If-Match": ['If-Match: "1"', 'If-Match: "2"'],
        "Last-Event-ID": ["Last-Event-ID: 1", "last-event-id: 2"],
        "X-CSRF-Token": ["X-CSRF-Token: a", "X-Csrf-Token: b"],
        Host: ["Host: one.example", "Accept: */*"]
      }
      const plain: Readonly<Record<string, string>> = {
        "Idempotency-Key": `Idempotency-Key: ${newKey()}`,
        Authorization: authorization,
        "Content-Type": json
      }
      for (const [name, lines] of Object.entries(twice)) {
        const others = Object.entries(plain).flatMap(([each, line]) => (each === name ? [] : [line]))
        const body = project()
        const { status, text } = yield* exchange("POST", `${workspace}/projects`, [...others, ...lines], body)
        assert.strictEqual(status, 422, `${name}: ${text}`)
        assert.include(text, `"loc":["header","${name}"]`)
        assert.include(text, "this header takes one value, and 2 are given")
        for (const secret of [key, otherKey]) assert.notInclude(text, secret.slice("Bearer ".length))
        const listed = yield* send("GET", `${workspace}/projects`, { headers: { authorization: key } })
        assert.notInclude(listed.text, JSON.parse(body).slug)
      }
    })
  )

  it.effect("is refused with equal values too, on a page and where nothing is", () =>
    Effect.gen(function* () {
      const { key } = yield* given
      const twice = [`Authorization: ${key}`, `Authorization: ${key}`]
      for (const path of ["/api/me", "/ui", "/verify", "/nothing"])
        assert.strictEqual((yield* exchange("GET", path, twice)).status, 422, path)
    })
  )

  it.effect("of requests for logs is replaced when it is given twice, and a list is joined", () =>
    Effect.gen(function* () {
      const { key } = yield* given
      const lines = ["X-Request-Id: one", "X-Request-Id: two", "Accept: text/html", "Accept: application/json"]
      const { status, text } = yield* exchange("GET", "/api/me", [`Authorization: ${key}`, ...lines])
      assert.strictEqual(status, 200)
      assert.match(text, /^x-request-id: [0-9a-f]{8}-[0-9a-f-]{27}\r$/im)
    })
  )

  it.effect("If-Match and expected_version are one condition: equal ones hold, and of two that differ neither", () =>
    Effect.gen(function* () {
      const { key, workspace } = yield* given
      const headers = { authorization: key }
      const made = yield* change("POST", `${workspace}/projects`, { headers, body: JSON.parse(project()) })
      const path = `/api/projects/${/"(prj_\w+)"/.exec(made.text)?.[1]}`
      const etag = (yield* send("GET", path, { headers })).headers.get("etag") ?? ""
      const version = Number(JSON.parse(etag))
      const patch = (ifMatch: string, body: object) =>
        change("PATCH", path, { headers: { ...headers, "if-match": ifMatch }, body })
      for (const [ifMatch, expected_version] of [
        [etag, version + 1],
        [`"${version + 1}"`, version],
        ['"0"', version]
      ] as const) {
        const differing = yield* patch(ifMatch, { name: "Two", expected_version })
        assert.strictEqual(differing.status, 422, differing.text)
        assert.include(differing.text, `the expected_version of the body, which is ${expected_version}`)
        assert.nestedPropertyVal(differing.json, "detail[0].loc[1]", "If-Match")
      }
      const stale = yield* patch(`"${version + 1}"`, { name: "Two", expected_version: null })
      assert.strictEqual(stale.status, 409, stale.text)
      assert.strictEqual((yield* patch(etag, { name: "Two", expected_version: version })).status, 200)
      assert.strictEqual((yield* patch("*", { name: "Three", expected_version: version + 1 })).status, 200)
      assert.strictEqual((yield* patch(etag, { name: "Four", expected_version: "one" })).status, 422)
    })
  )
})
