import fc from "fast-check"
import { type ComponentChildren, Fragment, h, isValidElement } from "preact"
import { assert, describe, it } from "vitest"
import { blocksOf, grown, noBlocks } from "../src/markdown/Blocks.js"
import { blockOf, safeHref } from "../src/markdown/Render.js"

interface Drawn {
  readonly type: string
  readonly props: Readonly<Record<string, unknown>>
}

/** The elements of a text, each with its properties. */
const elementsOf = (text: string): ReadonlyArray<Drawn> => {
  const found: Array<Drawn> = []
  const walk = (node: ComponentChildren): void => {
    if (Array.isArray(node)) for (const each of node) walk(each)
    else if (isValidElement(node)) {
      const { children, ...props } = node.props as Record<string, unknown>
      if (node.type !== Fragment) found.push({ type: typeof node.type === "string" ? node.type : "component", props })
      walk(children as ComponentChildren)
    }
  }
  const code = ({ language, text }: { readonly text: string; readonly language: string }) =>
    h("code", { language }, text)
  for (const token of blocksOf(text).tokens) walk(blockOf(token, code))
  return found
}

/** The words that a reader sees. */
const wordsOf = (text: string): string => {
  const words: Array<string> = []
  const walk = (node: ComponentChildren): void => {
    if (typeof node === "string" || typeof node === "number") words.push(String(node))
    else if (Array.isArray(node)) for (const each of node) walk(each)
    else if (isValidElement(node)) walk((node.props as { children?: ComponentChildren }).children)
  }
  for (const token of blocksOf(text).tokens) walk(blockOf(token, ({ text }) => h("code", {}, text)))
  return words.join("")
}

/** All that a text of an agent may become. */
const allowed: Readonly<Record<string, ReadonlyArray<string>>> = {
  p: [],
  h3: [],
  h4: [],
  h5: [],
  h6: [],
  ul: [],
  ol: ["start"],
  li: ["class"],
  blockquote: [],
  hr: [],
  br: [],
  strong: [],
  em: [],
  s: [],
  code: ["language"],
  section: ["class", "aria-label", "tabIndex"],
  table: [],
  thead: [],
  tbody: [],
  tr: [],
  th: ["class"],
  td: ["class"],
  span: ["class", "aria-hidden"],
  a: ["href", "target", "rel"]
}

const assertHarmless = (text: string): void => {
  for (const { props, type } of elementsOf(text)) {
    assert.property(allowed, type, text)
    for (const name of Object.keys(props)) assert.include(allowed[type] ?? [], name, `${type} of ${text}`)
    if (type !== "a") continue
    assert.match(String(props["href"]), /^(?:https?|mailto):/, text)
    assert.strictEqual(props["rel"], "noreferrer noopener")
  }
}

/** Pieces that mean something to Markdown, HTML or a browser. */
const piece = fc.oneof(
  fc.constantFrom(
    ..."# |* |- |1. |> |```|~~~|`|**|_|~~|[a](|](|)|![|<a href=|<script>|</script>|<img src=x onerror=alert(1)>|<svg/onload=|<br>".split(
      "|"
    ),
    ..."javascript:|JaVaScRiPt:|data:text/html,|vbscript:|https://a.example/|mailto:a@b.example|java\tscript:|&#x6a;avascript:|&colon;".split(
      "|"
    ),
    "\n",
    "\n\n",
    "| a | b |\n|---|:-:|\n| c | d |\n",
    "- [ ] to do\n- [x] done\n",
    "[x]: javascript:alert(1)\n",
    "[x]\n",
    "    ",
    "\\",
    "&lt;",
    "\u0000"
  ),
  fc.string({ unit: "grapheme", maxLength: 12 })
)
const text = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(""))

describe("Markdown of an agent", () => {
  it("becomes no element or attribute outside of the list, with any text", () => {
    fc.assert(fc.property(text, assertHarmless), { numRuns: 2000 })
  })

  it("leads to web pages and mail addresses alone", () => {
    for (const href of [
      "javascript:alert(1)",
      " javascript:alert(1)",
      "java\nscript:alert(1)",
      "data:text/html,x",
      "vbscript:x",
      "file:///etc/passwd",
      "blob:https://a.example/1",
      "//a.example",
      "/ui",
      ""
    ])
      assert.isUndefined(safeHref(href), href)
    assert.strictEqual(safeHref("https://a.example/b"), "https://a.example/b")
    fc.assert(
      fc.property(fc.oneof(fc.webUrl(), fc.string(), text), (href) => {
        const safe = safeHref(href)
        if (safe !== undefined) assert.match(safe, /^(?:https?|mailto):/)
      })
    )
  })

  it("shows HTML as the text that it is", () => {
    assert.include(wordsOf("<script>alert(1)</script>"), "<script>alert(1)</script>")
    assert.include(wordsOf("a <b onclick=x>c</b>"), "<b onclick=x>c</b>")
    assert.strictEqual(wordsOf("a &lt; b &amp; c"), "a < b & c")
    assert.strictEqual(wordsOf("`a &lt; b`"), "a &lt; b")
  })

  it("has headings, tables, task lists, links and code", () => {
    const types = (text: string) => elementsOf(text).map(({ type }) => type)
    assert.deepStrictEqual(types("# One\n\n## Two"), ["h3", "h4"])
    assert.includeMembers([...types("| a |\n|---|\n| b |")], ["table", "th", "td"])
    assert.includeMembers([...types("- [x] done\n- [ ] open")], ["ul", "li", "span"])
    assert.match(wordsOf("- [x] done\n- [ ] open"), /☑.*done.*☐.*open/s)
    assert.deepStrictEqual(types("![a picture](https://a.example/b.png)"), ["p", "a"])
    assert.deepStrictEqual(
      elementsOf("```ts\nconst a = 1\n```").map(({ props }) => props["language"]),
      ["ts"]
    )
  })

  it("that grows by any pieces is read to the same words, and the settled blocks stay", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        let blocks = noBlocks
        let said = ""
        for (const each of pieces) {
          const before = blocks
          said += each
          blocks = grown(blocks, said)
          assert.deepStrictEqual(
            blocks.tokens.slice(0, before.settled).map(({ raw }) => raw),
            before.tokens.slice(0, before.settled).map(({ raw }) => raw)
          )
        }
        const raw = (tokens: ReadonlyArray<{ readonly raw: string }>) => tokens.map((token) => token.raw).join("")
        assert.strictEqual(raw(blocks.tokens), raw(blocksOf(said).tokens))
      }),
      { numRuns: 500 }
    )
  })

  it("that grows word by word costs about the same for each word", () => {
    const paragraph = `${"words and more words ".repeat(20)}\n\n`
    let blocks = noBlocks
    let read = 0
    for (let at = 1; at <= 200; at++) {
      blocks = grown(blocks, paragraph.repeat(at))
      read += blocks.text.length - blocks.length
    }
    assert.isBelow(read, 200 * paragraph.length * 8)
  })
})
