import { assert, describe, it } from "@effect/vitest"
import { atPointer, holds, pickAt, wants } from "@reins/core/automations/Filters"
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

const labelled = (...names: ReadonlyArray<string>) => names.map((name, id) => ({ id, name, title: name }))

describe("a condition on a list", () => {
  const named = { pointer: "/issue/labels/*/name", is: "reins" }

  it("holds by any element, wherever it stands", () => {
    const before = fc.array(fc.constantFrom("bug", "urgent", "Reins", "reins2", ""), { maxLength: 4 })
    fc.assert(
      fc.property(before, before, fc.boolean(), (first, last, isThere) => {
        const names = [...first, ...(isThere ? ["reins"] : []), ...last]
        const body = { issue: { labels: labelled(...names), tags: names } }
        for (const pointer of [
          "/issue/labels/*/name",
          "/issue/labels/0/name",
          "/issue/labels/7/name",
          "/issue/labels/name"
        ])
          assert.strictEqual(holds({ pointer, is: "reins" }, body), isThere, pointer)
        for (const pointer of ["/issue/tags", "/issue/tags/*", "/issue/tags/0"])
          assert.strictEqual(holds({ pointer, in: ["none", "reins"] }, body), isThere, pointer)
        assert.strictEqual(holds({ ...named, not: true }, body), !isThere)
        assert.strictEqual(holds({ pointer: "/issue/labels/*", exists: true }, body), names.length > 0)
        assert.strictEqual(holds({ pointer: "/issue/labels/*/name" }, body), names.length > 0)
      })
    )
  })

  it("asks one element for all that it says, and looks into lists of lists", () => {
    const body = {
      checks: [
        { name: "a", state: "red" },
        { name: "ab", state: 1 }
      ],
      deep: [[{ x: 1 }], [[{ x: 2 }]], null, 7]
    }
    assert.isTrue(holds({ pointer: "/checks/*/name", starts_with: "a", is: "ab" }, body))
    assert.isFalse(holds({ pointer: "/checks/*/name", starts_with: "ab", is: "a" }, body))
    assert.isTrue(holds({ pointer: "/deep/x", is: 2 }, body))
    assert.isFalse(holds({ pointer: "/deep/*/x", is: 3 }, body))
    for (const pointer of ["/checks/*/none", "/checks/*/name/*", "/checks/length", "/deep/*/constructor", "/*/name"])
      assert.isFalse(holds({ pointer }, body), pointer)
  })

  it("takes `*` for the name of a member where an object has it", () => {
    assert.isTrue(holds({ pointer: "/env/*", is: "all" }, { env: { "*": "all" } }))
    assert.isFalse(holds({ pointer: "/env/*", is: "all" }, { env: { a: "all" } }))
  })

  it("of GitLab's changes holds for what is there now and was not before", () => {
    const change = (previous: unknown, current: unknown) => ({ changes: { labels: { previous, current } } })
    const added = (body: unknown, pointer = "/changes/labels/current/*/title") => holds({ pointer, is: "reins" }, body)
    for (const pointer of [
      "/changes/labels/current/*/title",
      "/changes/labels/current/0/title",
      "/changes/labels/current/title"
    ]) {
      assert.isTrue(added(change([], labelled("reins")), pointer), pointer)
      assert.isTrue(added(change(labelled("bug"), labelled("bug", "reins")), pointer), pointer)
      assert.isFalse(added(change(labelled("reins"), labelled("reins", "urgent")), pointer), pointer)
      assert.isFalse(added(change(labelled("reins", "bug"), labelled("bug")), pointer), pointer)
    }
    for (const previous of [null, undefined, {}, "reins", 7]) assert.isTrue(added(change(previous, labelled("reins"))))
    assert.isFalse(added({ changes: {} }))
    assert.isFalse(added({}))
    // A single value, and a condition that compares nothing.
    assert.isTrue(
      holds({ pointer: "/changes/state_id/current", is: 2 }, { changes: { state_id: { previous: 1, current: 2 } } })
    )
    assert.isTrue(
      holds({ pointer: "/changes/labels/current", exists: true }, change(labelled("a"), labelled("a", "b")))
    )
    assert.isTrue(holds({ pointer: "/changes/labels/previous/*/title", is: "reins" }, change(labelled("reins"), [])))
  })

  it("looks at each part of a body once, however the pointer is written", () => {
    const times = (size: number) => {
      let looks = 0
      const label = {
        get name() {
          return "bug"
        }
      }
      const counted = new Proxy(label, {
        getOwnPropertyDescriptor: (...of) => {
          looks += 1
          return Reflect.getOwnPropertyDescriptor(...of)
        }
      })
      holds({ pointer: "/a/b/*/0/name", is: "none" }, { a: { b: Array.from({ length: size }, () => [counted]) } })
      return looks
    }
    assert.strictEqual(times(2_000), 2 * times(1_000))
  })

  it("gives the values of all elements to a pick with `*`", () => {
    const body = { issue: { labels: labelled("bug", "reins") } }
    assert.deepStrictEqual(pickAt(body, "/issue/labels/*/name"), ["bug", "reins"])
    assert.strictEqual(pickAt(body, "/issue/labels/1/name"), "reins")
    assert.isUndefined(pickAt(body, "/issue/labels/name"))
    assert.isUndefined(pickAt(body, "/issue/none/*/name"))
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
