import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { askedCall, askedText, escapeUnseen } from "../src/index.js"

const textOf = (input: unknown) => askedText({ kind: "approval", description: JSON.stringify(input) })

describe("what an agent asks, as text", () => {
  it("shows an edit as the lines that change, with the values beside it", () => {
    const edit = { path: "/w/a.ts", old_text: "one\ntwo\nthree\n", new_text: "one\nTWO\nthree\n", first_line: 40 }
    assert.strictEqual(
      textOf({ replace_all: true, edits: [edit] }),
      "Change of /w/a.ts from line 40 on:\n  one\n- two\n+ TWO\n  three\nreplace_all: true"
    )
    assert.strictEqual(textOf({ path: "/w/b.ts", content: "new\n" }), "New text of /w/b.ts:\n+ new")
    assert.strictEqual(textOf({ path: "/w/c.ts", before: "a", after: "a\nb" }), "Change of /w/c.ts:\n  a\n+ b")
  })

  it("shows a command, an address and the call of a server's tool with its whole input", () => {
    assert.strictEqual(textOf({ command: "npm test\nrm -rf x", cwd: "/w" }), "$ npm test\n  rm -rf x\ncwd: /w")
    assert.strictEqual(textOf({ command: ["bash", "-lc", "npm test"] }), "$ npm test")
    assert.strictEqual(textOf({ commands: ["npm test", "npm run x"] }), "$ npm test\n  npm run x")
    // Two words in one are not two words.
    assert.strictEqual(textOf({ command: ["rm", "-rf", "a b", "it's", ""] }), `$ rm -rf 'a b' 'it'\\''s' ''`)
    assert.strictEqual(textOf({ command: ["bash", "-lc", "npm test", "x"] }), "$ bash -lc 'npm test' x")
    assert.strictEqual(textOf({ command: ["echo", "a;b", "$(id)"] }), "$ echo 'a;b' '$(id)'")
    assert.strictEqual(textOf({ url: "https://example.com" }), "url: https://example.com")
    assert.strictEqual(
      textOf({ server: "tickets", tool: "close", arguments: { id: 7 } }),
      'server: tickets\ntool: close\narguments: {\n    "id": 7\n  }'
    )
  })

  it("says it where there is nothing but the title, and shows words as they are", () => {
    assert.include(askedText({ kind: "approval", description: null }), "no more about it")
    assert.strictEqual(askedText({ kind: "form", description: null }), "")
    assert.strictEqual(askedText({ kind: "approval", description: "Close ticket 7" }), "Close ticket 7")
    assert.strictEqual(askedText({ kind: "approval", description: '{"command":"x' }), '{"command":"x')
  })

  it("escapes what a terminal obeys, what turns a text, and what nobody sees", () => {
    assert.strictEqual(
      escapeUnseen("rm \u202eabc\u2066 \u001b[2J\u200b\u{e0041}\ttab\r\nline"),
      "rm \\u202eabc\\u2066 \\u001b[2J\\u200b\\u{e0041}\ttab\nline"
    )
    assert.strictEqual(escapeUnseen("👩‍💻 é 日本"), "👩‍💻 é 日本")
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const shown = escapeUnseen(text)
        assert.notMatch(shown.replaceAll(/[\n\t]/g, ""), /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
        assert.strictEqual(escapeUnseen(shown), shown)
      })
    )
  })

  it("leaves no value of an input out, whatever its names are", () => {
    const known = [
      "command",
      "cmd",
      "commands",
      "path",
      "filePath",
      "content",
      "new_text",
      "after",
      "before",
      "old_text",
      "diff",
      "changes"
    ]
    const name = fc.oneof(fc.constantFrom(...known), fc.stringMatching(/^[a-z]{1,9}$/))
    const value = fc.stringMatching(/^[a-z0-9]{1,12}$/)
    const flat = fc.dictionary(name, value)
    const whole = fc.tuple(flat, fc.option(fc.array(flat, { minLength: 1 }), { nil: undefined }))
    fc.assert(
      fc.property(whole, ([input, edits]) => {
        const shown = textOf({ ...input, ...(edits !== undefined && { edits }) })
        const isOurs = edits?.every((each) => "path" in each && "old_text" in each && "new_text" in each) === true
        for (const [name, value] of [input, ...(edits ?? [])].flatMap(Object.entries))
          if (!isOurs || !["diff", "changes"].includes(name)) assert.include(shown, value, name)
      })
    )
    assert.strictEqual(askedCall({ command: "npm test", env: { A: "1" } }).values.length, 1)
  })
})
