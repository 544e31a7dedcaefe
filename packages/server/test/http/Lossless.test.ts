import { assert, layer } from "@effect/vitest"
import { Server } from "@reins/server/Server"
import { Effect } from "effect"
import { textAt } from "../contract/TenantParts.js"
import { Caller, change, codeOf, newKey, type Reply, send, service } from "../Service.js"

const json = "application/json"

const faultsOf = (
  reply: Reply
): ReadonlyArray<{ readonly type: string; readonly loc: unknown; readonly msg: string }> =>
  Object(reply.json).detail ?? []

layer(service(), { excludeTestServices: true })("nothing of a request is lost in silence", (it) => {
  const aSession = Effect.gen(function* () {
    const { bearer } = yield* Caller
    const { json: list } = yield* send("GET", "/api/workspaces", { headers: bearer })
    const workspace = `/api/workspaces/${textAt(list, "items.0.id")}`
    yield* change("POST", `${workspace}/connections`, {
      headers: bearer,
      body: {
        kind: "alpha_gateway",
        label: "gateway",
        credential: { base_url: "https://gateway.example/v1", api_key: "k" }
      }
    })
    const made = yield* change("POST", `${workspace}/sessions`, { headers: bearer, body: { labels: { team: "ä" } } })
    const session = `/api/sessions/${textAt(made.json, "id")}`
    return { bearer, workspace, session, events: `${session}/events` }
  })

  it.effect("a list that is given in several parameters is one list", () =>
    Effect.gen(function* () {
      const { bearer, events, session, workspace } = yield* aSession
      yield* change("PATCH", session, { headers: bearer, body: { title: "other" } })
      const typesOf = (query: string, path = events) =>
        Effect.map(send("GET", `${path}?${query}`, { headers: bearer }), (reply) => {
          assert.strictEqual(reply.status, 200, reply.text)
          const items: ReadonlyArray<{ readonly type?: string; readonly event?: { readonly type: string } }> = Object(
            reply.json
          ).items
          return [...new Set(items.map(({ event, type }) => event?.type ?? type))]
        })
      for (const query of [
        "types=session.created&types=session.updated",
        "types=session.created,session.updated",
        "types=session.updated&limit=5&types=session.created",
        "types=turn.*&types=session.created,session.updated&types=turn.*",
        "types=session.created&types=session.created&types=session.updated"
      ]) {
        assert.deepStrictEqual(yield* typesOf(query), ["session.created", "session.updated"], query)
        const ofAll = yield* typesOf(query, `${workspace}/events`)
        assert.includeMembers(ofAll, ["session.created", "session.updated"], query)
      }
      const wrong = yield* send("GET", `${events}?types=turn.*&types=nonsense`, { headers: bearer })
      assert.deepStrictEqual([wrong.status, faultsOf(wrong)[0]?.loc], [422, ["query", "types"]])
    })
  )

  it.effect("one value that is given again is refused, also when it is the same", () =>
    Effect.gen(function* () {
      const { bearer, events, workspace } = yield* aSession
      for (const [path, query, name, input] of [
        [`${workspace}/sessions`, "label=team%3Da&label=env%3Dprod", "label", ["team=a", "env=prod"]],
        [`${workspace}/sessions`, "limit=5&limit=5", "limit", ["5", "5"]],
        [`${workspace}/sessions`, "cursor=a&cursor=b", "cursor", ["a", "b"]],
        [`${workspace}/sessions`, "lifecycle=open&x=1&lifecycle=archived", "lifecycle", ["open", "archived"]],
        [`${workspace}/projects`, "archived=true&archived=false&archived=true", "archived", ["true", "false", "true"]],
        [events, "after=0&after=1", "after", ["0", "1"]],
        [events, "max_seconds=1&max_seconds=2", "max_seconds", ["1", "2"]],
        [`${workspace}/usage`, "group_by=day&group_by=model", "group_by", ["day", "model"]]
      ] as const) {
        const reply = yield* send("GET", `${path}?${query}`, { headers: bearer })
        const msg = `Value error, this takes one value, and ${input.length} are given`
        assert.deepStrictEqual(
          [reply.status, reply.json],
          [422, { detail: [{ type: "value_error", loc: ["query", name], msg, input, ctx: { error: {} } }] }],
          query
        )
      }
      const both = yield* send("GET", `${events}?limit=x&after=1&limit=5&after=2&limit=y`, { headers: bearer })
      assert.deepStrictEqual(
        faultsOf(both).map(({ loc, type }) => [loc, type]),
        [
          [["query", "limit"], "int_parsing"],
          [["query", "after"], "value_error"]
        ]
      )
      const unknown = yield* send("GET", `${workspace}/sessions?labels=a&labels=b&label[]=c`, { headers: bearer })
      assert.strictEqual(unknown.headers.get("reins-unknown-fields"), "query.labels, query.label%5B%5D")
    })
  )

  it.effect("a query is UTF-8, and encoded", () =>
    Effect.gen(function* () {
      const { bearer, workspace } = yield* aSession
      const { url } = yield* Server
      const raw = (query: string) =>
        Effect.promise(() => rawGet(`${url}${workspace}/sessions?${query}`, bearer.authorization))
      for (const query of ["label=team%3D%C3%A4", "label=team=%c3%a4"]) {
        const reply = yield* raw(query)
        assert.strictEqual(reply.status, 200, query)
        assert.isAtLeast(JSON.parse(reply.text).items.length, 1, query)
      }
      const bare = yield* raw("label=team=ä")
      assert.deepStrictEqual([bare.status, JSON.parse(bare.text).error.code], [400, "malformed_request"])
      for (const query of ["label=team%3D%E4", "label=a%3D%C3", "project_id=%ff", "cursor=%ED%A0%80"]) {
        const reply = yield* raw(query)
        assert.strictEqual(reply.status, 422, query)
        assert.include(reply.text, "this is not UTF-8")
      }
      assert.strictEqual((yield* raw("label=share%3D100%")).status, 200)
      assert.strictEqual((yield* raw("label=mark%3D%EF%BF%BD")).status, 200)
    })
  )

  it.effect("a body that is not announced as JSON is refused by its type", () =>
    Effect.gen(function* () {
      const { bearer, session, workspace } = yield* aSession
      const types = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
        "application/xml",
        "application/jsonp",
        "application/json, text/plain",
        "application/json; charset=utf-16",
        'application/merge-patch+json; charset="iso-8859-1"',
        "json",
        "null"
      ]
      for (const [method, path] of [
        ["POST", `${workspace}/sessions`],
        ["PATCH", session],
        ["POST", `${session}/messages`],
        ["POST", "/api/auth/login"],
        ["POST", `${session}/changesets`]
      ] as const)
        for (const type of types) {
          const reply = yield* change(method, path, { headers: { ...bearer, "content-type": type }, body: "{}" })
          assert.deepStrictEqual([reply.status, codeOf(reply)], [415, "unsupported_media_type"], `${path} ${type}`)
          assert.include(reply.text, "Content-Type: application/json")
          assert.nestedPropertyVal(reply.json, "error.details.content_type", type)
        }
      const { url } = yield* Server
      const untyped = yield* Effect.promise(() =>
        fetch(`${url}${session}`, {
          method: "PATCH",
          headers: { ...bearer, "idempotency-key": newKey() },
          body: new TextEncoder().encode("{}")
        })
      )
      assert.strictEqual(untyped.status, 415)
      assert.include(yield* Effect.promise(() => untyped.text()), "The body has no Content-Type")
      for (const type of [
        json,
        "APPLICATION/JSON",
        "application/json;charset=UTF-8",
        'application/json; charset="utf8"; profile=x',
        "application/merge-patch+json"
      ]) {
        const reply = yield* change("PATCH", session, { headers: { ...bearer, "content-type": type }, body: "{}" })
        assert.strictEqual(reply.status, 200, type)
      }
    })
  )

  it.effect("an empty body has no type, and a body that no operation takes is named", () =>
    Effect.gen(function* () {
      const { bearer, session } = yield* aSession
      for (const type of ["application/x-www-form-urlencoded", "text/plain", json]) {
        const headers = { ...bearer, "content-type": type }
        assert.strictEqual((yield* change("PATCH", session, { headers, body: "" })).status, 200)
        assert.strictEqual((yield* change("POST", `${session}/messages`, { headers, body: "" })).status, 422)
        const none = yield* change("POST", `${session}/archives`, { headers, body: "" })
        assert.deepStrictEqual([none.status, none.headers.get("reins-unknown-fields")], [200, null])
        const some = yield* change("POST", `${session}/unarchives`, { headers, body: "reason=done" })
        assert.deepStrictEqual([some.status, some.headers.get("reins-unknown-fields")], [202, "body"])
      }
    })
  )

  it.effect("a name that an object has twice is refused, in every spelling and at any depth", () =>
    Effect.gen(function* () {
      const { bearer, session } = yield* aSession
      const headers = { ...bearer, "content-type": json }
      for (const [body, loc] of [
        ['{"title":"a","title":"b"}', ["title"]],
        ['{"title":"a","title":"a"}', ["title"]],
        ['{"title":"a","t\\u0069tle":"b"}', ["title"]],
        ['{"labels":{"a":"1","b":"2","a":"3"}}', ["labels", "a"]],
        ['{"labels":{"":"1","":"2"}}', ["labels", ""]],
        ['{"labels":{"1":"1","1":"2"}}', ["labels", "1"]],
        ['{"other":[{},[{"a" : 1 , "a" : 2}]]}', ["other", 1, 0, "a"]],
        ['{"labels":{"__proto__":"1","__proto__":"2"}}', ["labels", "__proto__"]]
      ] as const) {
        const reply = yield* change("PATCH", session, { headers, body })
        const [fault] = faultsOf(reply)
        assert.deepStrictEqual([reply.status, fault?.loc], [422, ["body", ...loc]], body)
        assert.strictEqual(fault?.msg, "Value error, this name is given more than once")
      }
      const fine =
        '{"labels":{"a":"{\\"a\\":1,\\"a\\":2}","b":"a","title":"\\\\"},"title":"title","other":[["a"],{"a":[]}]}'
      assert.strictEqual((yield* change("PATCH", session, { headers, body: fine })).status, 200)
    })
  )

  it.effect("a number that would be another one is refused where it stands", () =>
    Effect.gen(function* () {
      const { bearer, session } = yield* aSession
      const headers = { ...bearer, "content-type": json }
      for (const [body, loc, type] of [
        ['{"expected_version":9007199254740993}', ["expected_version"], "int_parsing_size"],
        ['{"expected_version":9007199254740992}', ["expected_version"], "int_parsing_size"],
        ['{"expected_version":-12345678901234567890}', ["expected_version"], "int_parsing_size"],
        ['{"expected_version":1e20}', ["expected_version"], "int_parsing_size"],
        ['{"budget":{"tokens":9007199254740993.0}}', ["budget", "tokens"], "int_parsing_size"],
        ['{"unknown":{"1":[0,{"id":18446744073709551615}]}}', ["unknown", "1", 1, "id"], "int_parsing_size"],
        ['{"unknown":1e400}', ["unknown"], "finite_number"],
        ['{"unknown":[-1E999]}', ["unknown", 0], "finite_number"]
      ] as const) {
        const reply = yield* change("PATCH", session, { headers, body })
        const faults = faultsOf(reply)
        assert.deepStrictEqual([reply.status, faults[0]?.loc, faults[0]?.type], [422, ["body", ...loc], type], body)
        if (type === "int_parsing_size") assert.include(faults[0]?.msg, "9007199254740991")
      }
      const fine =
        '{"unknown":[9007199254740991,-9007199254740992,12345678901234567000,1e300,1.5,"9007199254740993"],"title":"9007199254740993"}'
      assert.strictEqual((yield* change("PATCH", session, { headers, body: fine })).status, 200)
      for (const after of ["9007199254740993", "-9007199254740993.0"]) {
        const reply = yield* send("GET", `${session}/events?after=${after}`, { headers: bearer })
        assert.deepStrictEqual([reply.status, faultsOf(reply)[0]?.loc], [422, ["query", "after"]], after)
        assert.include(reply.text, "9007199254740991")
      }
    })
  )

  it.effect("a body is UTF-8, with or without a mark of its order", () =>
    Effect.gen(function* () {
      const { bearer, session } = yield* aSession
      const { url } = yield* Server
      const patch = (body: Buffer) =>
        Effect.promise(async () => {
          const headers = { ...bearer, "content-type": json, "idempotency-key": newKey() }
          const response = await fetch(url + session, { method: "PATCH", headers, body })
          return { status: response.status, text: await response.text() }
        })
      const text = '{"title":"grün"}'
      for (const body of [Buffer.from(text), Buffer.from(`\ufeff${text}`)]) {
        const reply = yield* patch(body)
        assert.strictEqual(reply.status, 200)
        assert.strictEqual(JSON.parse(reply.text).title, "grün")
      }
      for (const body of [
        Buffer.from(text, "latin1"),
        Buffer.from(`\ufeff${text}`, "utf16le"),
        Buffer.from('{"title":"\xed\xa0\x80"}', "latin1"),
        Buffer.from('{"title":"\xc0\xaf"}', "latin1"),
        Buffer.from('{"title":"a\xff"}', "latin1")
      ]) {
        const reply = yield* patch(body)
        assert.strictEqual(reply.status, 422)
        assert.include(reply.text, "Invalid UTF-8")
      }
    })
  )
})

/** Sends a query as it is, which `fetch` would encode. */
const rawGet = async (address: string, authorization: string) => {
  const { request } = await import("node:http")
  const { host, hostname, port } = new URL(address)
  const target = address.slice(address.indexOf(host) + host.length)
  return new Promise<{ readonly status: number | undefined; readonly text: string }>((resolve, reject) => {
    const path = Buffer.from(target).toString("latin1")
    const sent = request({ hostname, port, path, headers: { authorization } }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
      response.on("end", () => resolve({ status: response.statusCode, text }))
    })
    sent.on("error", reject).end()
  })
}
