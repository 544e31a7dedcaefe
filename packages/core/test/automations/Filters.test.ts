import { assert, describe, it } from "@effect/vitest"
import { atPointer, holds, wants } from "@reins/core/automations/Filters"
import { payloadText, withPayload } from "@reins/core/automations/PayloadText"
import fc from "fast-check"

describe("a condition on a body", () => {
  it("compares values that pointers name", () => {
    const body = JSON.parse('{"a":{"b":[1,{"c/d":"x","~":null}]},"__proto__":{"p":true}}')
    assert.strictEqual(atPointer(body, ""), body)
    assert.strictEqual(atPointer(body, "/a/b/1/c~1d"), "x")
    assert.isNull(atPointer(body, "/a/b/1/~0"))
    assert.isTrue(atPointer(body, "/__proto__/p"))
    for (const pointer of ["/a/b/2", "/a/b/-1", "/a/b/length", "/toString", "/a/constructor", "/a/b/1/c~1d/length"])
      assert.isUndefined(atPointer(body, pointer), pointer)
    assert.isTrue(holds({ pointer: "/a/b/0", is: 1 }, body))
    assert.isFalse(holds({ pointer: "/a/b/0", is: "1" }, body))
    assert.isTrue(holds({ pointer: "/a/b/0", in: [2, 1], not: false }, body))
    assert.isTrue(holds({ pointer: "/a/b/1/c~1d", starts_with: "", exists: true }, body))
    assert.isFalse(holds({ pointer: "/a/b/0", starts_with: "1" }, body))
    assert.isTrue(holds({ pointer: "/none", exists: false }, body))
    assert.isTrue(holds({ pointer: "/none", not: true }, body))
    assert.isFalse(holds({ pointer: "/none" }, body))
    assert.isTrue(wants({}, { event: null, body }))
    assert.isFalse(wants({ events: ["push"] }, { event: null, body }))
  })
})

describe("what follows a message", () => {
  it("holds whole values alone, within its room, and no line that looks like a mark", () => {
    const mark = "0123456789abcdef01234567"
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.option(fc.array(fc.constantFrom("", "/a", "/0"), { maxLength: 3 }), { nil: undefined }),
        fc.integer({ min: -10, max: 400 }),
        (body, pick, room) => {
          const text = payloadText(body, pick, room)
          if (text === undefined) return true
          for (const line of text.split("\n")) {
            const [, name, json] = /^("(?:[^"\\]|\\.)*"): (.*)$/.exec(line) ?? []
            if (line.startsWith("Left out, ")) continue
            JSON.parse(json ?? line)
            if (name !== undefined) JSON.parse(name)
          }
          const kept = text.split("\n").filter((line) => !line.startsWith("Left out, "))
          assert.isAtMost(kept.join("\n").length, Math.max(0, room))
          return withPayload("Go.", text, mark).split(`--- ${mark} ---`).length === 3
        }
      )
    )
    assert.match(
      payloadText({ a: "x".repeat(100), b: 1 }, undefined, 50) ?? "",
      /^"\/b": 1\nLeft out, .*"\/a" \(102 characters\)$/
    )
  })
})
