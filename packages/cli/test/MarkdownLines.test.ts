import { stripVTControlCharacters } from "node:util"
import { MarkdownLines } from "@reins/cli/terminal/MarkdownLines"
import type { Style } from "@reins/cli/terminal/Style"
import * as fc from "fast-check"
import stringWidth from "string-width"
import { assert, describe, it } from "vitest"

const codes: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39]
}

const paint = (style: Style, text: string) => `\u001b[${codes[style][0]}m${text}\u001b[${codes[style][1]}m`

const linesFor = (columns: number) => new MarkdownLines(() => columns, paint)

const shown = (markdown: string, columns = 80): string => {
  const lines = linesFor(columns)
  return lines.take(markdown) + lines.end()
}

const plain = (markdown: string, columns?: number): string => stripVTControlCharacters(shown(markdown, columns))

/** Parts of Markdown, of which any may follow any other. */
const part = fc.constantFrom(
  ...[
    "# Head\n",
    "## A `b`\n\n",
    "word ",
    "two words\n",
    "\n",
    "\n\n",
    "漢字が続く文章",
    "🎉👨‍👩‍👧 ",
    "**bold** ",
    "*it*",
    "`code` "
  ],
  ...[
    "[docs](https://example.com/a) ",
    "[x][1]",
    "[1]: https://example.com\n",
    "- [x] done\n",
    "- item\n",
    "  - inner\n"
  ],
  ...[
    "1. one\n",
    "2. two\n",
    "> quote\n",
    "> - deep\n",
    "| a | b |\n| - | -: |\n| 1 | 漢 |\n",
    "---\n",
    "```js\n",
    "```\n"
  ],
  ...[
    "~~~\n",
    "    indented\n",
    "<b>x</b>",
    "<div>\n",
    "&amp; &#27;[2J &#x202e;",
    "\\*",
    "\t",
    "\r\n",
    "\r",
    "\u001b[31mred\u001b[0m"
  ],
  ...["\u001b]0;owned\u0007", "\u202e", "\u200f", "\u2066", "![picture](a.png)", "~~gone~~ ", `${"long".repeat(30)} `]
)

const markdown = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(""))

describe("an answer in Markdown", () => {
  it("is shown the same in whatever pieces it comes (500 ways)", () => {
    fc.assert(
      fc.property(markdown, fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }), (text, sizes) => {
        const lines = linesFor(40)
        let written = ""
        for (let at = 0, piece = 0; at < text.length; piece++) {
          const size = sizes[piece % sizes.length] ?? 1
          written += lines.take(text.slice(at, at + size))
          at += size
        }
        assert.strictEqual(written + lines.end(), shown(text, 40))
      }),
      { numRuns: 500 }
    )
  })

  it("gives the terminal no order of the agent's, and no line that is too wide but those of code and tables", () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 20, max: 100 }), (text, columns) => {
        const output = shown(text, columns)
        // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what a style of ours looks like
        const rest = output.replaceAll(/\u001b\[(?:[1-4]|2[2-4]|3[1236]|39)m/g, "")
        assert.notMatch(rest, orders)
        for (const line of rest.split("\n"))
          if (!/^(?:▏ |[•\d. ]|\[.\])* {2}/.test(line)) assert.isAtMost(stringWidth(line), Math.max(columns, 8), line)
      })
    )
  })

  it("has headings, emphasis, code, links and lists of a terminal", () => {
    assert.strictEqual(
      shown("# Title\n\nSome **bold *both*** and `a*b`, ~~gone~~.\n"),
      `${paint("underline", paint("bold", "Title"))}\n\nSome ${paint("bold", "bold ")}${paint("italic", paint("bold", "both"))} and ${paint("cyan", "a*b")}, ${paint("dim", "gone")}.\n`
    )
    assert.strictEqual(
      plain("See [the docs](https://e.com/a), <https://e.com> and ![a cat](cat.png).\n"),
      "See the docs (https://e.com/a), https://e.com and [picture: a cat].\n"
    )
    assert.strictEqual(
      plain("- [x] done\n- [ ] open\n\n9. nine\n10. ten\n    - inner\n"),
      "[x] done\n[ ] open\n\n 9. nine\n10. ten\n    • inner\n"
    )
    assert.strictEqual(plain("> said\n>\n> > twice\n"), "▏ said\n▏\n▏ ▏ twice\n")
    assert.strictEqual(plain("a &lt;b&gt; &copy; &#65;\n"), "a <b> &copy; A\n")
  })

  it("aligns the columns of a table by what is seen, and lists the rows of one that is too wide", () => {
    const table = "| Name | Sum |\n| --- | ---: |\n| 漢字 | 1 |\n| plain **b** | 22 |\n"
    assert.strictEqual(plain(table), "Name     Sum\n───────  ───\n漢字       1\nplain b   22\n")
    assert.strictEqual(plain(table, 10), "Name: 漢字\nSum: 1\n\nName:\nplain b\nSum: 22\n")
  })

  it("shows code as it is, line by line, and other blocks when they are whole", () => {
    const lines = linesFor(20)
    assert.strictEqual(
      lines.take("Look:\n```js\nlet a = 1 * 2 * 3 * 4 * 5 * 6\n"),
      shown("Look:\n```js\nlet a = 1 * 2 * 3 * 4 * 5 * 6\n```")
    )
    assert.strictEqual(stripVTControlCharacters(lines.take("\n\tb\n```\nAfter")), "\n  \tb\n")
    assert.isTrue(lines.isWaiting)
    assert.strictEqual(lines.take(" that.\n\n- a\n- b\n\n"), "\nAfter that.\n")
    assert.strictEqual(stripVTControlCharacters(lines.take("Next")), "")
    assert.strictEqual(stripVTControlCharacters(lines.end()), "\n• a\n• b\n\nNext\n")
    assert.isFalse(lines.isWaiting)
  })

  it("breaks long lines between words and between wide characters", () => {
    assert.strictEqual(plain("one two three four\n", 9), "one two\nthree\nfour\n")
    assert.strictEqual(plain("漢字が続く文章\n", 9), "漢字が続\nく文章\n")
    assert.strictEqual(plain("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧\n", 8), "👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧\n👨‍👩‍👧\n")
  })

  it.each([
    ["brackets", "[a](".repeat(2000)],
    ["stars", "*a **b ".repeat(1100)],
    ["quotes", `${"> ".repeat(190)}deep`],
    ["lists", Array.from({ length: 85 }, (_, depth) => `${"  ".repeat(depth)}- a`).join("\n")],
    ["dots", `${"a.".repeat(4000)}@`],
    ["wide characters", "漢".repeat(8000)],
    ["items", "- a\n\n".repeat(2000)]
  ])("takes a hostile text of many %s in less than three seconds", (_, text) => {
    const begun = performance.now()
    assert.isAbove(shown(text).length, 0)
    assert.isBelow(performance.now() - begun, 3000)
  })
})

/** Characters that a terminal obeys, but line ends and tabs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not be there
const orders = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/
