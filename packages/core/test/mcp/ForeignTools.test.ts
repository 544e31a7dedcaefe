import { assert, describe, it } from "@effect/vitest"
import { readAnswer } from "@reins/core/mcp/ForeignAnswer"
import { foreignMessage } from "@reins/core/mcp/ForeignMessage"
import { readPage, readTools } from "@reins/core/mcp/ForeignTools"
import { judgeTools } from "@reins/core/mcp/JudgedTools"

const good = { name: "good", description: "Good.", inputSchema: { type: "object", properties: {} } }
const last = { ...good, name: "last" }

const deep = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}{}${"}".repeat(levels)}`)

/** Tools that are listed beside good ones, and what is to come of each where it is allowed. */
const listed: ReadonlyArray<readonly [what: string, tool: unknown, standing: string, field?: string]> = [
  ["a description that is null", { ...good, name: "odd", description: null }, "offered"],
  ["no description", { name: "odd", inputSchema: { type: "object" } }, "offered"],
  ["no schema", { name: "odd", description: "x" }, "offered"],
  ["a schema that is null", { ...good, name: "odd", inputSchema: null }, "offered"],
  ["a schema without a type", { ...good, name: "odd", inputSchema: { properties: {} } }, "offered"],
  ["a type that is null", { ...good, name: "odd", inputSchema: { type: null } }, "offered"],
  ["a list of types", { ...good, name: "odd", inputSchema: { type: ["object", "null"] } }, "offered"],
  ["required that is null", { ...good, name: "odd", inputSchema: { type: "object", required: null } }, "offered"],
  ["annotations that are null", { ...good, name: "odd", annotations: null }, "offered"],
  ["a hint that is a text", { ...good, name: "odd", annotations: { readOnlyHint: "yes" } }, "offered"],
  ["a title that is null", { ...good, name: "odd", title: null }, "offered"],
  ["an output schema that is a list", { ...good, name: "odd", outputSchema: [] }, "offered"],
  ["fields of tomorrow", { ...good, name: "odd", execution: { later: [1] }, icons: "x" }, "offered"],
  ["the same tool twice", { ...good }, "missing"],
  ["a schema of 60 levels", { ...good, name: "odd", inputSchema: { type: "object", properties: deep(60) } }, "offered"],
  ["a schema of a text", { ...good, name: "odd", inputSchema: { type: "string" } }, "refused", "inputSchema.type"],
  ["a schema that is a list", { ...good, name: "odd", inputSchema: [] }, "refused", "inputSchema"],
  ["a schema that is a text", { ...good, name: "odd", inputSchema: "{}" }, "refused", "inputSchema"],
  ["a description that is a number", { ...good, name: "odd", description: 7 }, "refused", "description"],
  ["a schema of 2,000 levels", { ...good, name: "odd", inputSchema: { properties: deep(2000) } }, "refused"],
  ["a schema of 50,000 levels", { ...good, name: "odd", inputSchema: { properties: deep(50_000) } }, "refused"],
  ["a description that is too long", { ...good, name: "odd", description: "x".repeat(10_001) }, "refused"],
  ["a schema that is too long", { ...good, name: "odd", inputSchema: { $comment: "x".repeat(65_537) } }, "refused"],
  ["a name that is a number", { ...good, name: 7 }, "missing"],
  ["a name that is empty", { ...good, name: "" }, "missing"],
  ["a name of 129 characters", { ...good, name: "o".repeat(129) }, "missing"],
  ["no name", { description: "x" }, "missing"],
  ["null", null, "missing"],
  ["a text", "odd", "missing"]
]

describe("a list of tools", () => {
  for (const [what, tool, standing, field] of listed)
    it(`with ${what} costs nothing of the others`, () => {
      const list = readTools([good, tool, last])
      assert.strictEqual(list.listed, 3)
      const judged = judgeTools({ allow: ["good", "odd", "last"] }, new Map(), list)
      assert.deepStrictEqual(
        judged.map((each) => each.standing),
        ["offered", standing, "offered"]
      )
      const [, odd] = judged
      assert.strictEqual(odd?.reason === null, standing !== "refused")
      if (field !== undefined) assert.include(odd?.reason ?? "", JSON.stringify(field))
      // Nobody who did not allow it hears of it.
      assert.isTrue(judgeTools({ allow: ["good"] }, new Map(), list).every(({ reason }) => reason === null))
    })

  it("with two different tools of one name refuses that name, and names the cause", () => {
    const list = readTools([good, last, { ...good, description: "Other." }])
    const [first, second] = judgeTools({ allow: ["good", "last"] }, new Map(), list)
    assert.deepStrictEqual([first?.standing, second?.standing], ["refused", "offered"])
    assert.include(first?.reason ?? "", "two different tools")
  })

  it("is pinned and asked for by its own names alone, also where every object has one", () => {
    const names = ["constructor", "__proto__", "toString", "valueOf", "hasOwnProperty"]
    const list = readTools(names.map((name) => ({ ...good, name })))
    const judged = judgeTools({ allow: names, pins: {} }, new Map(), list)
    assert.isTrue(judged.every(({ standing }) => standing === "offered"))
  })

  it("has descriptions without what models read and people do not see", () => {
    const description = "A\u202eb\u001b[2J\u{e0041}\u2066c\u0000\r\n\td"
    assert.strictEqual(readTools([{ ...good, description }]).tools[0]?.description, "Ab[2Jc\r\n\td")
  })

  it("ends with a cursor that is absent, null or empty, and goes on with any other text", () => {
    for (const nextCursor of [undefined, null, ""])
      assert.isUndefined(readPage({ tools: [good], nextCursor }).next, String(nextCursor))
    for (const nextCursor of ["0", "null", "\u0000"])
      assert.strictEqual(readPage({ tools: [], nextCursor }).next, nextCursor)
    for (const page of [null, [], "x", {}, { tools: null }, { tools: {} }, { tools: [], nextCursor: 7 }])
      assert.throws(() => readPage(page), /field/)
  })
})

const png = Buffer.from("an image").toString("base64")

const answers: ReadonlyArray<readonly [what: string, result: unknown, text: string, images?: number]> = [
  ["no content", {}, ""],
  ["content that is null", { content: null }, ""],
  ["content that is a text", { content: "Done." }, "Done."],
  ["content that is one block", { content: { type: "text", text: "Done." } }, "Done."],
  ["a block that is a text", { content: ["Done."] }, "Done."],
  ["a block that is null", { content: [null] }, "[Block 1 of the answer cannot be read.]"],
  [
    "a text that is null",
    { content: [{ type: "text", text: null }] },
    '[Block 1 of the answer cannot be read (field "text").]'
  ],
  ["a block without a type", { content: [{ text: "Done." }] }, "Done."],
  ["a block of a kind of tomorrow", { content: [{ type: "table", rows: [] }] }, "[table that is not shown]"],
  ["a block of another type", { content: [{ type: 7 }] }, '[Block 1 of the answer cannot be read (field "type").]'],
  [
    "an image without a kind",
    { content: [{ type: "image", data: png }] },
    '[Block 1 of the answer cannot be read (field "mimeType").]'
  ],
  [
    "an image without bytes",
    { content: [{ type: "image", data: 7, mimeType: "image/png" }] },
    '[Block 1 of the answer cannot be read (field "data").]'
  ],
  [
    "an image that models do not take",
    { content: [{ type: "image", data: png, mimeType: "image/svg+xml" }] },
    "[image/svg+xml that is not shown]"
  ],
  ["an image by another name", { content: [{ type: "image", data: `${png}\n`, mimeType: "image/JPG" }] }, "", 1],
  ["a link without a name", { content: [{ type: "resource_link", uri: "file:///a" }] }, "file:///a"],
  [
    "a link without a place",
    { content: [{ type: "resource_link", name: "a" }] },
    '[Block 1 of the answer cannot be read (field "uri").]'
  ],
  [
    "a resource that is null",
    { content: [{ type: "resource", resource: null }] },
    '[Block 1 of the answer cannot be read (field "resource").]'
  ],
  [
    "a resource without a kind",
    { content: [{ type: "resource", resource: { uri: "a:b", blob: "eA==" } }] },
    "[application/octet-stream that is not shown: a:b]"
  ],
  ["a value alone", { content: [], structuredContent: [1] }, "[1]"],
  ["a result of the oldest protocol", { toolResult: { a: 1 } }, '{"a":1}'],
  ["a value that is very deep", { structuredContent: deep(50_000) }, "[A value that is nested too deeply to be shown.]"]
]

describe("an answer to a call", () => {
  for (const [what, result, text, images = 0] of answers)
    it(`with ${what} is read`, () => {
      const answer = readAnswer(result)
      assert.deepStrictEqual([answer.text, answer.images.length, answer.is_error], [text, images, false])
    })

  it("keeps its other blocks beside an odd one", () => {
    for (const [, result] of answers) {
      const { content } = result as { readonly content?: unknown }
      if (!Array.isArray(content)) continue
      const { text } = readAnswer({
        content: [{ type: "text", text: "first" }, ...content, { type: "text", text: "last" }]
      })
      assert.match(text, /^first\n[\s\S]*last$/)
    }
  })

  it("is a success only where it says so, or nothing", () => {
    const isError = (given: unknown) => readAnswer({ content: [], isError: given }).is_error
    for (const given of [undefined, null, false]) assert.isFalse(isError(given))
    for (const given of [true, "true", "false", 1, {}]) assert.isTrue(isError(given), String(given))
  })
})

describe("a message", () => {
  it("is an answer with what its server has left out", () => {
    const result = { a: 1 }
    assert.deepEqual(foreignMessage({ jsonrpc: "2.0", id: 1, result }), { jsonrpc: "2.0", id: 1, result })
    assert.deepEqual(foreignMessage({ id: "1", result, error: null }), { jsonrpc: "2.0", id: "1", result })
    assert.deepEqual(foreignMessage({ id: 1, result: null }), { jsonrpc: "2.0", id: 1, result: {} })
    assert.deepEqual(foreignMessage({ id: null, error: { message: "No." } }, 7), {
      jsonrpc: "2.0",
      id: 7,
      error: { code: -32603, message: "No." }
    })
    assert.deepInclude(foreignMessage({ id: 1, error: "No." }), { error: { code: -32603, message: "No." } })
    for (const none of [null, "x", [], {}, { id: 1 }, { result }, { id: {}, result }])
      assert.isUndefined(foreignMessage(none))
  })
})
