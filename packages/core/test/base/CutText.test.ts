import { assert, describe, it } from "@effect/vitest"
import { cutEnd, cutText, piecesOf, shortened, textOfBeginning, textOfEnd } from "@reins/base/base/CutText"
import { packagesOfCore, sourcesOf } from "@reins/testing/Sources"
import * as fc from "fast-check"

const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom("a", "é", "e\u0301", "😀", "👍🏽", "👩‍💻", "🏳️‍🌈", "ใ", "中", "\n", "\u0301"),
      fc.string({ unit: "grapheme", maxLength: 3 }),
      fc.string({ unit: "binary", maxLength: 3 })
    ),
    { maxLength: 30 }
  )
  .map((parts) => parts.join(""))

const isWhole = (text: string): boolean => Buffer.from(text).toString("utf8") === text

describe("a text that is cut", () => {
  it("keeps its bound, is a part of the text, and has no half of a character", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 0, max: 60 }), (text, most) => {
        const [begin, end] = [cutText(text, most), cutEnd(text, most)]
        assert.isTrue(text.startsWith(begin) && text.endsWith(end))
        assert.isAtMost(Math.max(begin.length, end.length), most)
        for (const each of [begin, end, shortened(text, most + 2)]) assert.isTrue(isWhole(each))
        // It is not much shorter than it may be.
        if (text.length > most) assert.isAtLeast(begin.length, most - 33)
        const pieces = piecesOf(text, most + 2)
        assert.strictEqual(pieces.join(""), text)
        for (const piece of pieces) assert.isTrue(isWhole(piece) && piece.length <= most + 2)
      }),
      { numRuns: 2_000 }
    )
  })

  it("keeps marks, joined and coloured characters whole", () => {
    assert.strictEqual(cutText("ae\u0301", 2), "a")
    assert.strictEqual(cutText("a👍🏽", 3), "a")
    assert.strictEqual(cutText("a👩‍💻b", 4), "a")
    assert.strictEqual(cutText("a😀b", 2), "a")
    assert.strictEqual(cutEnd("😀b", 2), "b")
    assert.strictEqual(cutEnd("e\u0301b", 2), "b")
    assert.strictEqual(shortened("abcdef", 4), "abc…")
    assert.strictEqual(cutText("e".concat("\u0301".repeat(1_000)), 500).length, 500)
  })

  it("is whole from bytes that were cut anywhere", () => {
    fc.assert(
      fc.property(anyText, fc.nat(120), (text, at) => {
        const bytes = Buffer.from(text)
        const [begin, end] = [textOfBeginning(bytes.subarray(0, at)), textOfEnd(bytes.subarray(at))]
        assert.isTrue(text.startsWith(begin) && text.endsWith(end))
      })
    )
  })
})

describe("the sources", () => {
  const files = sourcesOf([...packagesOfCore, "server", "cli", "client", "console"])

  /** Cuts of ASCII, of bytes and of lists. */
  const allowed = new Set([
    "client/src/HostToken.ts",
    "console/src/automations/Times.ts",
    "console/src/project/Skills.tsx",
    "console/src/request/CareView.tsx",
    "console/src/request/Parts.tsx",
    "console/src/request/RequestView.tsx",
    "console/src/usage/BudgetCourse.tsx",
    "console/src/usage/Chart.ts",
    "console/src/usage/DayChart.tsx",
    "core/src/automations/Schedules.ts",
    "core/src/backup/Backup.ts",
    "machine/src/bench/SessionPaths.ts",
    "core/src/connections/CredentialSeal.ts",
    "machine/src/capture/agent/AgentAlternates.ts",
    "machine/src/capture/agent/AgentGit.ts",
    "machine/src/capture/files/Submodules.ts",
    "machine/src/capture/Survey.ts",
    "core/src/sessions/usage/UsageGroups.ts",
    "core/src/store/BlobBucket.ts",
    "core/src/worktrees/UploadBytes.ts",
    "cli/src/client/Automations.ts",
    "cli/src/client/MergeRequestView.ts",
    "cli/src/client/Shares.ts",
    "cli/src/client/Webhooks.ts",
    "server/src/cli/SchedulePreview.ts",
    "server/src/cli/init/InitConnection.ts",
    "server/src/cli/operator/Backup.ts",
    "server/src/doors/mcp/ReadTools.ts",
    "server/src/doors/mcp/WorkTools.ts",
    "server/src/http/Listener.ts"
  ])

  it("cut texts by one function", () => {
    const bound =
      /\.(?:slice|substring|substr)\(\s*(?:0, (?:\d{2,}|\w*(?:Length|Words|Text|Chars|Characters|Title|Line|Summary|Quoted))(?: - \d)?|-(?:\d{2,}|\w*(?:Length|Words|Text|Chars|Characters|Title|Line)))\)/g
    const isOfAscii = /(?:digest(?:\([^)]*\))?|bootId|commit|_at|url"\))\??$/
    const cuts = files
      .filter(({ name }) => name !== "base/src/base/CutText.ts" && !allowed.has(name))
      .flatMap(({ name, text }) =>
        [...text.matchAll(bound)]
          .filter(({ index }) => !isOfAscii.test(text.slice(0, index)))
          .map(([found]) => `${name}: ${found}`)
      )
    assert.deepStrictEqual(cuts, [])
  })
})
