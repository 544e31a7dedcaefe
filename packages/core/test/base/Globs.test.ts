import { assert, describe, it } from "@effect/vitest"
import { fitsName, fitsPath } from "@reins/base/base/Globs"
import { anyFits } from "@reins/core/care/Paths"
import { Effect } from "effect"
import * as fc from "fast-check"

const escaped = (text: string) => text.replace(/[\\^$.|?+()[\]{}]/g, "\\$&")

/** The same patterns as regular expressions, which take an exponential time for long texts. */
const nameExpression = (pattern: string) =>
  new RegExp(
    `^${pattern
      .split(/(\*+|\?)/)
      .map((part) => (part === "?" ? "." : part.startsWith("*") ? ".*" : escaped(part)))
      .join("")}$`,
    "su"
  )
const wild: Readonly<Record<string, string>> = { "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*" }
const pathExpression = (pattern: string) =>
  new RegExp(
    `^${pattern
      .replace(/^\/+/, "")
      .split(/(\*\*\/|\*\*|\*)/)
      .map((part) => wild[part] ?? escaped(part))
      .join("")}$`,
    "s"
  )

const texts = (...letters: ReadonlyArray<string>) =>
  fc.array(fc.constantFrom(...letters), { maxLength: 9 }).map((parts) => parts.join(""))

describe("the wildcards of others", () => {
  it("names fit as regular expressions say", () => {
    fc.assert(
      fc.property(texts("a", "b", "*", "?", "🙂", "/", "."), texts("a", "b", "🙂", "/", ".", "\n"), (pattern, name) => {
        assert.strictEqual(fitsName(pattern, name), nameExpression(pattern).test(name), JSON.stringify([pattern, name]))
      }),
      { numRuns: 1_000 }
    )
  })

  it("paths fit as regular expressions say", () => {
    fc.assert(
      fc.property(
        texts("a", "b", "*", "**", "**/", "/", "?", "."),
        texts("a", "b", "/", "/a", ".", "?", "\n"),
        (pattern, path) => {
          assert.strictEqual(
            fitsPath(pattern)(path),
            pathExpression(pattern).test(path),
            JSON.stringify([pattern, path])
          )
        }
      ),
      { numRuns: 1_000 }
    )
  })

  it("names of checks fit the patterns that forges show", () => {
    for (const [pattern, name, is] of [
      ["ci / *", "ci / build (push)", true],
      ["ci / *", "ci /build", false],
      ["*", "", true],
      ["**", "anything", true],
      ["?", "🙂", true],
      ["?", "名", true],
      ["??", "🙂", false],
      ["*ab*ba*", "aba", false],
      ["a.c", "abc", false],
      ["[ab]", "a", false],
      ["Prüfung *", "Prüfung 名前", true]
    ] as const)
      assert.strictEqual(fitsName(pattern, name), is, `${pattern} ${name}`)
  })

  it("many stars over a long name take no time", () => {
    for (const stars of [8, 12, 300]) assert.isFalse(fitsName(`${"*a".repeat(stars)}b`, "a".repeat(100_000)))
    for (const stars of [8, 12, 90]) assert.isFalse(fitsPath(`${"**a".repeat(stars)}b`)("a".repeat(4_096)))
    assert.isFalse(fitsName(`${"*?a".repeat(300)}b`, "a".repeat(1_000)))
  })

  it.effect("a path that no system takes is for a person", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* anyFits(["a".repeat(5_000)], ["b"]))
      assert.isFalse(yield* anyFits(["a".repeat(4_000)], ["b"]))
      assert.isFalse(yield* anyFits(["a".repeat(5_000)], []))
    })
  )
})
