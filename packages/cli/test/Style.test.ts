import { assert, describe, it } from "@effect/vitest"
import { harmless, harmlessJson, harmlessLine } from "@reins/cli/terminal/Style"
import { table } from "@reins/cli/terminal/Table"
import * as fc from "fast-check"

/** The characters that a terminal obeys, but tabs and line ends. */
const obeyed = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu
const orders = (text: string) => (text.match(obeyed) ?? []).filter((each) => each !== "\t" && each !== "\n")

const texts = fc
  .array(
    fc.constantFrom(
      ...["a", "名", "اسم", "🙂", " ", "\t", "\n", "\r\n", "\r", "\u0000", "\u0007", "\u0008", "\u007f", "\u009b2J"],
      ...[
        "\u001b[2J",
        "\u001b]0;owned\u0007",
        "\u001b]52;c;YQ==\u0007",
        "\u001b[31m",
        "\u202e",
        "\u2066",
        "\u2028",
        "\u200f",
        "\u061c",
        "\u001b"
      ]
    ),
    { maxLength: 12 }
  )
  .map((parts) => parts.join(""))

describe("texts of others on a terminal", () => {
  it("order nothing", () => {
    fc.assert(fc.property(texts, (text) => assert.deepStrictEqual(orders(harmless(text)), [])))
  })

  it("order nothing in a line of ours or a table, which keep our styles", () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is kept
    const styles = /\u001b\[[0-9;]+m/g
    fc.assert(
      fc.property(texts, (text) => {
        assert.deepStrictEqual(orders(harmlessLine(`\u001b[31m${text}\u001b[39m`).replace(styles, "")), [])
        assert.deepStrictEqual(orders(table([[text, text]]).replace(styles, "")), [])
      })
    )
    assert.strictEqual(harmlessLine("\u001b[1mName\u001b[22m: اسم 名前 🙂"), "\u001b[1mName\u001b[22m: اسم 名前 🙂")
  })

  it("are escaped in JSON, which programs read as it was", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const json = harmlessJson({ text })
        assert.deepStrictEqual(orders(json), [])
        assert.deepStrictEqual(JSON.parse(json), { text })
      })
    )
  })
})
