import { limitParts } from "@reins/machine/git/read/DiffLimits"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"

const line = fc.record({
  sign: fc.constantFrom("+", "-", " "),
  text: fc.oneof(fc.constant(""), fc.stringMatching(/^[a-z+@-]{0,200}$/))
})

const isOf = (lines: ReadonlyArray<{ readonly sign: string }>, sign: string) =>
  lines.filter((each) => each.sign === sign).length

const headOf = (lines: ReadonlyArray<{ readonly sign: string }>) => {
  const side = (count: number) => `${count === 0 ? 0 : 1}${count === 1 ? "" : `,${count}`}`
  const shared = isOf(lines, " ")
  return `@@ -${side(shared + isOf(lines, "-"))} +${side(shared + isOf(lines, "+"))} @@`
}

describe("a diff within its limits", () => {
  it("shows the lines that fit, and counts exactly those", () => {
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 100, max: 3_000 }),
        (lines, most) => {
          const head = "diff --git a/a b/a\n--- a/a\n+++ b/a\n"
          const hunk = `${headOf(lines)} in f\n`
          const patch = head + hunk + lines.map(({ sign, text }) => `${sign}${text}\n`).join("")
          const limits = { maxDiffBytes: 1_000_000, maxDiffFileBytes: most, maxDiffFiles: 10 }
          const { parts, truncated } = limitParts(Buffer.from(patch), true, limits)
          const [part] = parts
          const isWhole = patch.length <= most
          assert.strictEqual(truncated, !isWhole)
          if (part === undefined) return assert.isAbove(head.length, most)
          const shown = part.text.toString().slice(head.length).split("\n").slice(1, -1)
          const fitting = lines.slice(0, shown.length)
          assert.deepStrictEqual(
            shown,
            fitting.map(({ sign, text }) => `${sign}${text}`)
          )
          assert.deepInclude(part, { additions: isOf(fitting, "+"), deletions: isOf(fitting, "-") })
          if (isWhole) return assert.lengthOf(shown, lines.length)
          const next = lines[shown.length]
          const size = head.length + hunk.length + fitting.reduce((sum, { text }) => sum + text.length + 2, 0)
          assert.isTrue(next === undefined || size + next.text.length + 2 > most)
        }
      )
    )
  })
})
