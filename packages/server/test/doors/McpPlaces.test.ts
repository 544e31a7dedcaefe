import { takesStream } from "@reins/server/doors/mcp/Accepted"
import { contentFor } from "@reins/server/doors/mcp/FormContent"
import { inputOf } from "@reins/server/doors/mcp/Input"
import { tools } from "@reins/server/doors/mcp/McpDoor"
import { readMessages } from "@reins/server/doors/mcp/Messages"
import { Places } from "@reins/server/doors/mcp/Places"
import { Turnstile } from "@reins/server/doors/mcp/Turnstile"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { z } from "zod"

const here = () => new AbortController().signal

describe("the places of a caller", () => {
  const fill = async (places: Places, count: number, caller = "a") =>
    Promise.all(Array.from({ length: count }, () => places.enter(caller, 0, here())))

  it("are twenty, and the rest waits in order", async () => {
    const places = new Places()
    const [first] = await fill(places, 20)
    const came: Array<number> = []
    const noted = <A>(n: number, leave: A): A => {
      came.push(n)
      return leave
    }
    const waiting = [1, 2, 3].map((n) => places.enter("a", 0, here()).then((leave) => noted(n, leave)))
    assert.isDefined(await places.enter("b", 0, here()))
    first?.()
    const second = await waiting[0]
    // Nobody who comes now gets the place before those in line.
    const late = places.enter("a", 0, here()).then((leave) => noted(4, leave))
    second?.()
    ;(await waiting[1])?.()
    ;(await waiting[2])?.()
    ;(await late)?.()
    assert.deepStrictEqual(came, [1, 2, 3, 4])
  })

  it("are bounded in number and in bytes, and come back from clients that go", async () => {
    const places = new Places()
    await fill(places, 20)
    const leaving = new AbortController()
    const gone = Array.from({ length: 80 }, () => places.enter("a", 0, AbortSignal.any([leaving.signal])))
    assert.isUndefined(await places.enter("a", 0, here()))
    leaving.abort()
    assert.deepStrictEqual(new Set(await Promise.all(gone)), new Set([undefined]))
    const large = places.enter("a", 1024 * 1024, AbortSignal.timeout(1))
    assert.isUndefined(await places.enter("a", 1, here()))
    assert.isUndefined(await large)
    assert.isUndefined(await places.enter("a", 0, AbortSignal.abort()))
  })
})

describe("the turns of requests", () => {
  it("go by callers, in the order of each, and others come between", async () => {
    const turnstile = new Turnstile()
    const passed: Array<string> = []
    const pass = async (caller: string, name: string) => {
      await turnstile.pass(caller)
      passed.push(name)
    }
    const all = Promise.all([pass("a", "a1"), pass("a", "a2"), pass("a", "a3"), pass("b", "b1"), pass("b", "b2")])
    let turns = 0
    const other = () => {
      if (passed.length === 5) return
      turns += 1
      setImmediate(other)
    }
    setImmediate(other)
    await all
    assert.deepStrictEqual(passed, ["a1", "b1", "a2", "b2", "a3"])
    assert.isAtLeast(turns, 4)
    await pass("c", "c1")
    assert.strictEqual(passed.at(-1), "c1")
  })
})

describe("the input of tools", () => {
  it("is told exactly, and the same object each time", () => {
    for (const { input, name, schema } of tools) {
      const { jsonSchema } = schema["~standard"]
      const told = jsonSchema.input({ target: "draft-2020-12" })
      assert.deepStrictEqual(told, z.toJSONSchema(z.object(input), { target: "draft-2020-12", io: "input" }), name)
      assert.strictEqual(jsonSchema.input({ target: "draft-2020-12" }), told, name)
    }
  })

  it("reads whatever is exact as it is", async () => {
    const shape = {
      text: z.string(),
      count: z.number().int().default(3),
      flag: z.boolean().optional(),
      list: z.array(z.string()).optional()
    }
    const exact = z.object(shape)
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.string()),
      fc.constant(undefined)
    )
    await fc.assert(
      fc.asyncProperty(
        fc.record({ text: value, count: value, flag: value, list: value }, { requiredKeys: [] }),
        async (given) => {
          const told = exact.safeParse(given)
          const read = await inputOf(shape)["~standard"].validate(given)
          if (told.success && !Object.values(given).includes(""))
            assert.strictEqual(JSON.stringify(read), JSON.stringify({ value: told.data }))
        }
      )
    )
    const read = async (given: unknown) => inputOf(shape)["~standard"].validate(given)
    const meant = { text: "7", count: 4, flag: true, list: ["one"] }
    for (const flag of ["true", "TRUE", " True ", 1, "1"])
      assert.deepEqual(await read({ text: 7, count: "4", flag, list: "one" }), { value: meant })
    assert.deepEqual(await read({ text: "7", count: null, flag: "", list: null }), { value: { text: "7", count: 3 } })
    assert.deepEqual(await read({ text: "7", list: '["a","b"]' }), { value: { text: "7", count: 3, list: ["a", "b"] } })
    for (const wrong of [
      { text: null },
      { text: "x", flag: "maybe" },
      { text: "x", count: "4x" },
      { text: "x", list: 7 },
      [],
      "x",
      null
    ])
      assert.property(await read(wrong), "issues", JSON.stringify(wrong))
  })

  it("has no null in the parameters of a message, and leaves all else as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (given) => {
        const read = readMessages({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "x", arguments: given }
        })
        const { params } = read as { readonly params: { readonly arguments?: unknown } }
        if (typeof given !== "string" && given !== null) assert.strictEqual(params.arguments, given)
      })
    )
    const message = { method: "x", params: { cursor: null, _meta: { progressToken: null, a: 1 } } }
    assert.deepEqual(readMessages([message, 7, null]), [{ method: "x", params: { _meta: { a: 1 } } }, 7, null])
  })

  it("accepts a stream where its type is named and wanted", () => {
    for (const yes of ["text/event-stream", "a/b,TEXT/EVENT-STREAM ;q=0.1", "text/event-stream;q=1"])
      assert.isTrue(takesStream(yes), yes)
    for (const no of [
      null,
      "",
      "*/*",
      "text/*",
      "text/event-stream;q=0",
      "text/event-stream; q = 0.00",
      "xtext/event-stream"
    ])
      assert.isFalse(takesStream(no), String(no))
  })
})

describe("the values of a form", () => {
  const plain = { description: null, default: null, minimum: null, maximum: null, format: null, choices: [] }
  const choices = [
    { value: "eu", title: "Europe" },
    { value: "us", title: "United States" }
  ]
  const fields = [
    { ...plain, name: "port", title: "Port", type: "integer", required: true },
    { ...plain, name: "fast", title: "Fast", type: "boolean", required: false },
    { ...plain, name: "name", title: "Name", type: "text", required: false },
    { ...plain, name: "region", title: "Region", type: "choice", required: false, choices },
    { ...plain, name: "regions", title: "Regions", type: "choices", required: false, choices }
  ] as const

  it("are meant by texts, by titles and by one in the place of a list", () => {
    assert.deepEqual(
      contentFor(fields, { port: "8080", fast: "true", name: 7, region: "Europe", regions: "United States" }),
      {
        port: 8080,
        fast: true,
        name: "7",
        region: "eu",
        regions: ["us"]
      }
    )
    assert.deepEqual(
      contentFor(fields, { port: 1, fast: null, name: "", region: " US ", regions: '["eu","United states"]' }),
      {
        port: 1,
        region: "us",
        regions: ["eu", "us"]
      }
    )
    // What means none of the choices goes on as it is, and the API names it.
    const odd = { port: "many", region: "Mars", regions: ["eu", "Mars"], other: "x" }
    assert.deepEqual(contentFor(fields, odd), odd)
  })
})
