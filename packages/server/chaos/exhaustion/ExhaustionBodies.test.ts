import { assert, it } from "vitest"
import { type Answer, type LoneServer, send, withLoneServer } from "./LoneServer.js"
import { staysWell } from "./Vitals.js"

const mebibyte = 1024 * 1024

/** Every operation here takes a body of its own shape. */
const operations = ({ sessionId, workspaceId }: LoneServer) =>
  [
    ["POST", "/api/api-keys"],
    ["POST", `/api/workspaces/${workspaceId}/projects`],
    ["POST", `/api/workspaces/${workspaceId}/sessions`],
    ["POST", `/api/workspaces/${workspaceId}/connections`],
    ["PATCH", `/api/sessions/${sessionId}`],
    ["POST", `/api/sessions/${sessionId}/messages`],
    ["POST", `/api/sessions/${sessionId}/delegations`],
    ["POST", `/api/sessions/${sessionId}/file-uploads`]
  ] as const

const isInvalid = (type: string, words: string) => (answer: Answer, name: string) => {
  assert.strictEqual(answer.status, 422, `${name}: ${answer.text.slice(0, 300)}`)
  const [first] = JSON.parse(answer.text).detail
  assert.strictEqual(first.type, type, name)
  assert.include(JSON.stringify(first), words, name)
}

it("six uploads of 24 MiB at once are all kept", () =>
  withLoneServer(async (given) => {
    const size = 24 * mebibyte
    const content = Buffer.alloc(size, "reins").toString("base64")
    await staysWell(given.server, () =>
      Promise.all(
        Array.from({ length: 6 }, async (_, index) => {
          const body = Buffer.from(JSON.stringify({ path: `${index}.bin`, content, encoding: "base64" }))
          const { status, text } = await send(given, "POST", `/api/sessions/${given.sessionId}/file-uploads`, body)
          assert.strictEqual(status, 200, text.slice(0, 300))
        })
      )
    )
    const { items } = await given.client.sessions.listFiles({ session_id: given.sessionId })
    assert.deepStrictEqual(
      items.map((item) => item.size),
      Array.from({ length: 6 }, () => size)
    )
  }))

it("a flood of a hundred bodies of 1 MiB is answered, each with what is wrong with it", () =>
  withLoneServer(async (given) => {
    const path = `/api/sessions/${given.sessionId}/messages`
    const list = (member: string, count: number) =>
      `{"content":[${Array.from({ length: count }, () => member).join()}]}`.padEnd(mebibyte)
    const bodies = [
      JSON.stringify({ content: "x".repeat(mebibyte - 20) }),
      list("1", 500_000),
      list("1", 49_000),
      list("[]", 49_000),
      list("{}", 49_000)
    ]
    const answers = await staysWell(given.server, () =>
      Promise.all(Array.from({ length: 100 }, (_, index) => send(given, "POST", path, bodies[index % bodies.length])))
    )
    answers.forEach(({ status, text }, index) => {
      assert.strictEqual(status, 422, text.slice(0, 300))
      assert.lengthOf(JSON.parse(text).detail, index % bodies.length < 2 ? 1 : 100)
    })
  }))

const levels = 100_000
const deepArray = "[".repeat(levels) + "]".repeat(levels)
const deepObject = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`

it("JSON that is nested 100,000 deep is refused in words, in whatever operation and wherever in its body", () =>
  withLoneServer(async (given) => {
    const fields = ["spec", "result_schema", "value", "content", "labels", "credential", "harness"]
    const bodies = [
      deepArray,
      deepObject,
      "[".repeat(levels),
      '{"a":'.repeat(levels),
      ...fields.flatMap((field) => [`{"${field}":${deepArray}}`, `{"${field}":${deepObject}}`]),
      `{"__proto__":${deepObject}}`
    ]
    await staysWell(given.server, async () => {
      for (const [method, path] of operations(given)) {
        const answers = await Promise.all(bodies.map((body) => send(given, method, path, body)))
        for (const answer of answers) isInvalid("json_invalid", "Nesting deeper than 200")(answer, path)
      }
    })
  }))

it("a body with __proto__, huge numbers or a megabyte of names is answered and changes nothing but what it says", () =>
  withLoneServer(async (given) => {
    const projects = `/api/workspaces/${given.workspaceId}/projects`
    const project = (slug: string, rest: string) =>
      send(given, "POST", projects, `{"slug":"${slug}","name":"P",${rest}}`)
    const names = Array.from({ length: 47_000 }, (_, index) => `"k${String(index).padStart(16, "0")}":1`)
    const most = names.join()
    const delegations = `/api/sessions/${given.sessionId}/delegations`
    await staysWell(given.server, async () => {
      const polluting = await project(
        "polluting",
        '"__proto__":{"description":"bad"},"constructor":{"prototype":{"x":1}}'
      )
      assert.strictEqual(polluting.status, 201, polluting.text)
      assert.isNull(JSON.parse(polluting.text).description)
      const many = await project("many", most)
      assert.strictEqual(many.status, 201, many.text.slice(0, 300))
      assert.notInclude(many.text, '"k0')
      const numbers = [
        ["1e999", "finite_number"],
        ["-1e999", "finite_number"],
        ["9".repeat(mebibyte - 1000), "finite_number"],
        [`0.${"0".repeat(mebibyte - 1000)}1`, "string_type"]
      ] as const
      for (const [number, type] of numbers) {
        const answer = await send(given, "POST", projects, `{"slug":"n","name":${number}}`)
        isInvalid(type, '"name"')(answer, number.slice(0, 10))
      }
      for (const [method, path] of operations(given)) {
        const { status, text } = await send(given, method, path, `{${most}}`)
        assert.include([200, 201, 202, 422], status, `${path}: ${text.slice(0, 300)}`)
      }
      const labels = await send(given, "PATCH", `/api/sessions/${given.sessionId}`, `{"labels":{${most}}}`)
      isInvalid("string_type", '"labels"')(labels, "labels")
      assert.lengthOf(JSON.parse(labels.text).detail, 100)
      const properties = names.slice(0, 40_000).join().replaceAll(":1", ":{}")
      const rules = `{"role":"r","instructions":"i","result_schema":{"type":"object","properties":{${properties}}}}`
      const delegated = await send(given, "POST", delegations, rules)
      assert.include([201, 202, 422], delegated.status, delegated.text.slice(0, 300))
    })
  }))

it("a query that is deep, long or polluting is answered like any other", () =>
  withLoneServer(async (given) => {
    const path = `/api/workspaces/${given.workspaceId}/sessions`
    await staysWell(given.server, async () => {
      const read = async (query: string) => (await send(given, "GET", `${path}?${query}`)).status
      assert.strictEqual(await read(`a${"[a]".repeat(4000)}=1`), 200)
      assert.strictEqual(await read("__proto__[x]=1&__proto__=1&constructor.prototype.x=1"), 200)
      assert.strictEqual(await read(`limit=${"9".repeat(4000)}`), 422)
      assert.strictEqual(await read("limit=1e999"), 422)
      assert.strictEqual(await read(Array.from({ length: 2000 }, (_, index) => `k${index}=`).join("&")), 200)
      assert.strictEqual(await read(`cursor=${encodeURIComponent("[".repeat(4000))}`), 400)
      assert.strictEqual(await read("a=".padEnd(20_000, "a")), 431)
    })
  }))
