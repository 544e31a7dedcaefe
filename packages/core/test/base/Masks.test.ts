import { assert, describe, it } from "@effect/vitest"
import { foreignWords } from "@reins/base/base/ForeignWords"
import { blankKeys, blankTokens } from "@reins/base/base/Masks"
import { slicesOf } from "@reins/base/base/Slices"
import * as fc from "fast-check"

/** The forms that were blanked before the masks were linear. What they find is blanked still. */
const earlierForms: ReadonlyArray<RegExp> = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:rk_|rsh_|whsec_|gh[pousr]_|github_pat_|glpat-|gto_|sk-|sk_live_|rk_live_|npm_|hf_|xox[abprs]-)[\w-]{20,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{35}/g,
  /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g
]
const earlierAddress = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@"'<>]+@/gi
const earlierInMessages =
  /\b(?:gh[a-z]_\w{16,}|github_pat_\w{16,}|gl[a-z]{2,5}-[\w.-]{16,}|xox[a-z]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|[rs]k[-_][\w-]{16,}|npm_\w{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)|-----BEGIN [A-Z ]*PRIVATE KEY-----.*/g

/** Each secret that it finds has a mark of its own, so that it is found again where it was not blanked. */
let count = 0
const secretOf = (length: number) => `${"x".repeat(length)}Q${count++}Q`

const pieces = fc.oneof(
  fc.constantFrom(
    ...["a", " ", "\n", ".", "-", "_", "@", "/", ":", "://", "é", "名", '"', "<", "https", "git+ssh", "eyJ", "-eyJ"],
    ...[
      "ghp_",
      "glpat-",
      "sk-",
      "xoxb-",
      "npm_",
      "AKIA",
      "AIza",
      "hf_",
      "eyJaaaaaaaaaaaa",
      "-----BEGIN RSA PRIVATE KEY-----"
    ],
    ...["-----END RSA PRIVATE KEY-----", "-----BEGIN ", "PRIVATE KEY-----"]
  ),
  fc.integer({ min: 0, max: 40 }).map(secretOf)
)
const texts = fc.array(pieces, { maxLength: 14 }).map((parts) => parts.join(""))

const marksIn = (text: string) => text.match(/Q\d+Q/g) ?? []
const blanked = (text: string) =>
  [...slicesOf(blankKeys(text, "[secret]"))].map((piece) => blankTokens(piece, "[secret]")).join("")

describe("masks", () => {
  it("blank what they blanked when they were regular expressions", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const earlier = earlierForms.reduce((rest, form) => rest.replace(form, "[secret]"), text)
        const kept = new Set(marksIn(earlier.replace(earlierAddress, "$1[secret]@")))
        for (const mark of marksIn(blanked(text))) assert.isTrue(kept.has(mark), JSON.stringify([text, mark]))
      }),
      { numRuns: 1_000 }
    )
  })

  it("blank in messages what they blanked when they were regular expressions", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const line = text.replace(/\s+/g, " ").trim()
        const kept = new Set(marksIn(line.replace(earlierInMessages, "***")))
        for (const mark of marksIn(foreignWords(text, 100_000)))
          assert.isTrue(kept.has(mark), JSON.stringify([text, mark]))
      }),
      { numRuns: 1_000 }
    )
  })

  it("blank each form, and leave words", () => {
    const long = "aB3".repeat(13)
    for (const [text, clean] of [
      [`x ghp_${long} y`, "x [secret] y"],
      [`key-eyJ${long}.eyJ${long}.${long}`, "key-[secret]"],
      [`(eyJ${long}.eyJ${long}.${long})`, "([secret])"],
      [`eyJ${long}..${long}.${long}.x`, `eyJ${long}..${long}.${long}.x`],
      ["https://bob:pw@host/x git+ssh://u@h", "https://[secret]@host/x git+ssh://[secret]@h"],
      ["http://h/a@b and a@b.c", "http://h/a@b and a@b.c"],
      ["://", "://"],
      ["-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nx", "[secret]\nx"],
      ["-----BEGIN PRIVATE KEY-----\nabc", "[secret]"],
      ["eyJ is how a header begins. a.b.c", "eyJ is how a header begins. a.b.c"]
    ] as const)
      assert.strictEqual(blanked(text), clean, text)
  })

  it("a colour in the middle of a token hides none of it", () => {
    assert.strictEqual(foreignWords(`gh\u001b[0mp_${"a".repeat(36)} x`, 100), "*** x")
  })
})
