import { linesOf, makePaths } from "@reins/server/doors/acp/Paths"
import { assert, describe, it } from "vitest"

const paths = makePaths("sess_1", "/home/ann/shop", undefined)
const inside = "/data/sessions/sess_1/workspace"

describe("the paths of an editor", () => {
  it("stand in the input of a tool at any depth, in names of fields too, and nothing else changes", () => {
    const input = {
      command: ["cat", `${inside}/src/a.ts`, "--color"],
      changes: { [`${inside}/src/b.ts`]: { kind: "update", old: `in "${inside}"`, lines: 3, last: null } },
      cwd: inside,
      ok: true
    }
    assert.deepStrictEqual(paths.inValue(input), {
      command: ["cat", "/home/ann/shop/src/a.ts", "--color"],
      changes: { "/home/ann/shop/src/b.ts": { kind: "update", old: 'in "/home/ann/shop"', lines: 3, last: null } },
      cwd: "/home/ann/shop",
      ok: true
    })
    for (const each of [null, 7, "text", [], {}, undefined]) assert.deepStrictEqual(paths.inValue(each), each)
    let deep: unknown = inside
    for (let level = 0; level < 10_000; level++) deep = [deep]
    assert.isArray(paths.inValue(deep))
  })

  it("name the lines that a person has selected, however the editor writes them", () => {
    const written: ReadonlyArray<readonly [string, string | undefined]> = [
      ["file:///home/ann/shop/a.ts#L10-20", "10-20"],
      ["file:///home/ann/shop/a.ts#L10-L20", "10-20"],
      ["file:///home/ann/shop/a.ts#L10:20", "10-20"],
      ["file:///home/ann/shop/a.ts#L10C3-L20C5", "10-20"],
      ["file:///home/ann/shop/a.ts#L7", "7"],
      ["file:///home/ann/shop/a.ts#L7-L7", "7"],
      ["/home/ann/shop/a.ts#L7", "7"],
      ["file:///home/ann/shop/a.ts", undefined],
      ["file:///home/ann/shop/a%23L7.ts", undefined],
      ["https://example.com/page#Limits", undefined]
    ]
    for (const [uri, lines] of written) assert.strictEqual(linesOf(uri), lines, uri)
    for (const [uri, lines] of written) if (lines !== undefined) assert.strictEqual(paths.fromEditor(uri), "a.ts", uri)
  })
})
