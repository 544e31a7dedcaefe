import { assert, describe, it } from "@effect/vitest"
import { adorns, bounded, ForeignName, foreignName } from "@reins/base/base/ForeignText"
import { Schema } from "effect"
import * as fc from "fast-check"

describe("a text of another program", () => {
  it("keeps its bound and stands on one line, without characters that nobody sees", () => {
    const unit = fc.oneof(
      fc.constantFrom(
        "a",
        " ",
        "名",
        "\u0000",
        "\u0007",
        "\u001b[31m",
        "\u202e",
        "\u2066",
        "\n",
        "\u2028",
        "🙂",
        "\u200f"
      ),
      fc.string({ unit: "binary", maxLength: 2 })
    )
    fc.assert(
      fc.property(fc.array(unit), fc.integer({ min: 1, max: 40 }), (parts, most) => {
        const name = foreignName(parts.join(""), most)
        assert.isAtMost(name.length, most)
        assert.notMatch(name, /[\p{Cc}\u2028-\u202e\u2066-\u2069\u200e\u200f]/u)
      })
    )
  })

  it("keeps words of all alphabets as they are", () => {
    const names = ["名前", "ÄÖÜ", "имя", "اسم", "🙂", "ci / build (push)"]
    assert.deepStrictEqual(
      names.map((name) => foreignName(name, 100)),
      names
    )
    assert.strictEqual(Schema.decodeUnknownSync(ForeignName(4))("имя имя"), "имя")
  })

  it("is cut before a pattern looks at it", () => {
    assert.strictEqual(bounded("a".repeat(1_000_000), 10), "a".repeat(10))
    // A text that is nothing but spaces costs no more than its bound.
    assert.strictEqual(foreignName(" ".repeat(1_000_000), 100), "")
  })

  it("adorns without deciding: what cannot be read is null", () => {
    const read = Schema.decodeUnknownSync(Schema.Struct({ at: adorns(Schema.Number) }))
    assert.deepStrictEqual(
      [{ at: 1 }, {}, { at: null }, { at: "1" }, { at: { a: 1 } }].map((given) => read(given).at),
      [1, null, null, null, null]
    )
  })
})
