import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { type ApprovalSubject, askedText, changedLines, gapSentence, shownName, subjectText } from "../src/index.js"

const subject = (parts: Partial<ApprovalSubject>): ApprovalSubject => ({
  kind: "edit",
  command: null,
  cwd: null,
  url: null,
  tool: null,
  input: null,
  edits: [],
  files: 0,
  additions: 0,
  deletions: 0,
  complete: true,
  gaps: [],
  digest: "sha256:0",
  ...parts
})

describe("the subject of an approval, as text", () => {
  it("has a command, an address and a tool, each with all other values", () => {
    const command = subject({
      kind: "command",
      command: "npm test\nrm x",
      cwd: "packages/a",
      input: '{"env":{"A":"1"}}'
    })
    assert.strictEqual(subjectText(command), '$ npm test\n  rm x\nin packages/a\nenv: {\n    "A": "1"\n  }')
    assert.strictEqual(subjectText(subject({ kind: "fetch", url: "https://a.example" })), "Address: https://a.example")
    const tool = subject({ kind: "tool", tool: "tickets: close", input: '{"id":7,"why":"done"}' })
    assert.strictEqual(subjectText(tool), "Tool: tickets: close\nid: 7\nwhy: done")
    assert.strictEqual(subjectText(subject({ kind: "tool", tool: "x", input: '{"cut' })), 'Tool: x\n{"cut')
  })

  it("has the lines of each change, with their place and their signs", () => {
    const edits = [
      { path: "a.ts", old_text: "one\ntwo\nthree\n", new_text: "one\nTWO\nthree\n", line: 40 },
      { path: "b.ts", old_text: null, new_text: "new\n", line: 1 },
      { path: "c.ts", old_text: "old", new_text: null, line: 1 },
      { path: "d.ts", old_text: "a", new_text: "b", line: null }
    ]
    assert.strictEqual(
      subjectText(subject({ edits, complete: false, gaps: ["unplaced"] })),
      [
        "Change of a.ts from line 40 on:\n  one\n- two\n+ TWO\n  three",
        "New file b.ts:\n+ new",
        "Deletion of c.ts:\n- old",
        "Change of d.ts, at a place that is not known:\n- a\n+ b",
        "Not all of it can be shown: the place of a change in its file is not known."
      ].join("\n")
    )
    assert.deepStrictEqual(
      changedLines(edits[0] ?? assert.fail()).map(({ number }) => number),
      [40, 41, 41, 42]
    )
  })

  it("says it where the agent told nothing, and takes the place of a description", () => {
    const untold = subject({ kind: "unknown", complete: false, gaps: ["unknown"] })
    assert.include(gapSentence(untold), "no more about it")
    assert.isUndefined(gapSentence(subject({})))
    const asked = { kind: "approval" as const, description: '{"command":"x"}' }
    assert.include(askedText({ ...asked, subject: untold }), "no more about it")
    assert.strictEqual(askedText({ ...asked, subject: null }), "$ x")
  })

  it("hides nothing: what a terminal obeys and what turns a text is escaped, and names are short", () => {
    assert.strictEqual(shownName("a\u202eb\u001b[2J\nc"), "a\\u202eb\\u001b[2J c")
    assert.isAtMost(shownName("x".repeat(5000)).length, 200)
    const text = fc.string({ unit: "binary" })
    fc.assert(
      fc.property(text, text, text, text, (path, old_text, new_text, command) => {
        const shown = subjectText(subject({ command, tool: path, edits: [{ path, old_text, new_text, line: 1 }] }))
        assert.notMatch(shown.replaceAll(/[\n\t]/g, ""), /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
      })
    )
  })

  it("has every line of both sides of a change", () => {
    const text = fc.array(fc.constantFrom("a\n", "b\n", "\n"), { maxLength: 12 }).map((lines) => lines.join(""))
    fc.assert(
      fc.property(text, text, (old_text, new_text) => {
        const lines = changedLines({ path: "a", old_text, new_text, line: 1 })
        const side = (sign: string) =>
          lines
            .filter((each) => each.sign === " " || each.sign === sign)
            .map(({ text }) => `${text}\n`)
            .join("")
        assert.strictEqual(side("-"), old_text)
        assert.strictEqual(side("+"), new_text)
      })
    )
  })
})
