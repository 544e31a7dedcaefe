import type { RequestThread } from "@reins/client"
import fc from "fast-check"
import { assert, describe, it } from "vitest"
import { snippetOf } from "../src/palette/SessionSearch.js"
import { filesOf } from "../src/review/DiffFiles.js"
import { type FileDiff, hasMore, widerBy } from "../src/review/DiffRows.js"
import { partsOf, suggestionFor, withSuggestion } from "../src/review/Suggestion.js"
import { placedThreads } from "../src/review/ThreadPlaces.js"

/** The diff of a file of so many lines, of which one has changed, with context around it. */
const diffOf = (lines: number, changed: number, context: number): FileDiff => {
  const from = Math.max(1, changed - context)
  const to = Math.min(lines, changed + context)
  const rows = Array.from({ length: to - from + 1 }, (_, at) => from + at).flatMap((line) =>
    line === changed ? [`-line ${line}`, `+new ${line}`] : [` line ${line}`]
  )
  const size = to - from + 1
  const text = ["diff --git a/a b/a", "--- a/a", "+++ b/a", `@@ -${from},${size} +${from},${size} @@`, ...rows, ""]
  const [file] = filesOf(text.join("\n"))
  return { ...(file ?? assert.fail("no file")), ...(context !== 3 && { context }) }
}

describe("more lines of a diff", () => {
  it("are offered while the file has them, and not once it is shown to its ends", () => {
    assert.isTrue(hasMore(diffOf(100, 50, 3)))
    assert.isTrue(hasMore(diffOf(100, 50, 23)))
    assert.isFalse(hasMore(diffOf(30, 15, 23)))
    assert.isFalse(hasMore(diffOf(5, 3, 3)))
    assert.isTrue(hasMore(diffOf(100, 1, 3)))
    assert.isFalse(hasMore({ ...diffOf(5, 3, 3), hunks: [] }))
  })

  it("end for every file after some presses, with all that a server shows", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.nat(), (lines, at) => {
        const changed = 1 + (at % lines)
        let file = diffOf(lines, changed, 3)
        let presses = 0
        while (hasMore(file)) {
          file = diffOf(lines, changed, widerBy(file, 20))
          presses += 1
        }
        assert.isAtMost(presses, 5)
        const shown = (file.hunks[0]?.lines ?? []).filter(({ kind }) => kind !== "delete").length
        const most = file.context ?? 3
        assert.strictEqual(shown, Math.min(changed - 1, most) + 1 + Math.min(lines - changed, most))
        if (most < 100) assert.strictEqual(shown, lines)
      })
    )
  })
})

describe("a suggestion", () => {
  it("stands in a comment as on GitHub, beside words", () => {
    assert.deepStrictEqual(partsOf("Shorter:\n```suggestion\nreturn 1\n```\nthanks"), [
      { kind: "words", text: "Shorter:" },
      { kind: "suggestion", text: "return 1" },
      { kind: "words", text: "thanks" }
    ])
    assert.deepStrictEqual(partsOf("```suggestion\n```"), [{ kind: "suggestion", text: "" }])
    assert.deepStrictEqual(partsOf("```js\n1\n```"), [{ kind: "words", text: "```js\n1\n```" }])
  })

  it("begins with the lines as they are, whatever they hold", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const lines = text.replaceAll(/[\r]/g, "")
        assert.deepStrictEqual(partsOf(suggestionFor(lines)), [{ kind: "suggestion", text: lines }])
      })
    )
    assert.deepStrictEqual(partsOf(suggestionFor("```\ncode\n```")), [{ kind: "suggestion", text: "```\ncode\n```" }])
  })

  it("takes the place of the lines, which may have moved, and of nothing else", () => {
    const file = "one\ntwo\nthree\ntwo\n"
    const at = (number: number, quote: string, from?: number) => ({
      number,
      quote,
      ...(from !== undefined && { from })
    })
    assert.strictEqual(withSuggestion(file, at(2, "two"), "2"), "one\n2\nthree\ntwo\n")
    assert.strictEqual(withSuggestion(file, at(4, "two"), "2"), "one\ntwo\nthree\n2\n")
    assert.strictEqual(withSuggestion(file, at(3, "two\nthree", 2), "2\n3\n4"), "one\n2\n3\n4\ntwo\n")
    assert.strictEqual(withSuggestion(file, at(1, "three"), "3"), "one\ntwo\n3\ntwo\n")
    assert.strictEqual(withSuggestion(file, at(3, "three"), ""), "one\ntwo\ntwo\n")
    assert.isUndefined(withSuggestion(file, at(1, "two"), "2"))
    assert.isUndefined(withSuggestion(file, at(9, "gone"), "2"))
    assert.strictEqual(withSuggestion("a\r\nb\r\n", at(2, "b\r"), "c\nd"), "a\r\nc\r\nd\r\n")
  })

  it("changes exactly the commented lines of any file", () => {
    const line = fc.stringMatching(/^[a-z ]{0,8}$/)
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), fc.nat(), fc.nat(), fc.array(line), (lines, a, b, given) => {
        const [from, to] = [1 + (a % lines.length), 1 + (b % lines.length)].sort((one, other) => one - other) as [
          number,
          number
        ]
        const comment = { from, number: to, quote: lines.slice(from - 1, to).join("\n") }
        const text = given.join("\n")
        const wanted = [...lines.slice(0, from - 1), ...(text === "" ? [] : given), ...lines.slice(to)].join("\n")
        assert.strictEqual(withSuggestion(lines.join("\n"), comment, text), wanted)
      })
    )
  })
})

describe("the threads of a merge request", () => {
  const files = filesOf(
    ["diff --git a/a b/a", "--- a/a", "+++ b/a", "@@ -1,2 +1,2 @@", " one", "-two", "+three", ""].join("\n")
  )
  const thread = (id: string, given: Partial<RequestThread>): RequestThread => ({
    id: `thr_${id}`,
    merge_request_id: "mr_1",
    path: "a",
    line: 2,
    side: "new",
    outdated: false,
    resolved: false,
    comments: [],
    ...given
  })

  it("stand beside the lines of the diff, and the others are counted", () => {
    const { beside, others } = placedThreads(
      [
        thread("new", {}),
        thread("again", {}),
        thread("old", { side: "old" }),
        thread("context", { line: 1 }),
        thread("outdated", { outdated: true }),
        thread("whole", { path: null, line: null, side: null }),
        thread("file", { line: null, side: null }),
        thread("elsewhere", { path: "b" }),
        thread("below", { line: 9 })
      ],
      files
    )
    assert.deepStrictEqual(
      [...beside].map(([place, found]) => [place, ...found.map(({ id }) => id)]),
      [
        ["a:after:2", "thr_new", "thr_again"],
        ["a:before:2", "thr_old"],
        ["a:after:1", "thr_context"]
      ]
    )
    assert.strictEqual(others, 5)
  })
})

describe("a snippet", () => {
  it("is the words around what was searched for, without case and accents", () => {
    const long = `${"before ".repeat(20)}the Café needle ${"after ".repeat(30)}`
    const snippet = snippetOf(long, "cafe")
    assert.include(snippet, "Café needle")
    assert.isTrue(snippet.startsWith("… ") && snippet.endsWith(" …"), snippet)
    assert.isBelow(snippet.length, 150)
    assert.strictEqual(snippetOf("a short text", "text"), "a short text")
    assert.strictEqual(snippetOf("", "x"), "")
  })
})
