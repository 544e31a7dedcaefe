import { assert, it } from "@effect/vitest"
import { askedPause } from "@reins/machine/relay/gateway/AskedPause"
import fc from "fast-check"

const now = Date.parse("2026-05-01T10:00:00Z")

for (const [what, headers, words, pause] of [
  ["seconds", { "retry-after": "3600" }, null, 3_600_000],
  ["parts of a second", { "retry-after": "0.5" }, null, 500],
  ["a date", { "retry-after": "Fri, 01 May 2026 10:01:00 GMT" }, null, 60_000],
  [
    "a date by the clock of the gateway",
    { "retry-after": "Fri, 01 May 2026 10:01:00 GMT", date: "Fri, 01 May 2026 10:00:50 GMT" },
    null,
    10_000
  ],
  ["a date that is over", { "retry-after": "Fri, 01 May 2026 09:00:00 GMT" }, null, 0],
  ["milliseconds", { "retry-after-ms": "1500", "retry-after": "2" }, null, 1500],
  ["a duration", { "retry-after": "35.5s" }, null, 35_500],
  [
    "a limit that is used up",
    { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s" },
    null,
    360_000
  ],
  [
    "no limit that is left",
    { "x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "6m0s" },
    null,
    null
  ],
  [
    "the longest limit",
    {
      "anthropic-ratelimit-tokens-remaining": "0",
      "anthropic-ratelimit-tokens-reset": "2026-05-01T10:00:30Z",
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": "2026-05-01T10:01:00Z"
    },
    null,
    60_000
  ],
  ["words", {}, "Rate limit reached. Please try again in 7m12s. Visit the page.", 432_000],
  ["words with a unit", {}, "Please retry in 5 minutes", 300_000],
  ["words with milliseconds", {}, "Please try again in 120ms.", 120],
  ["nothing", {}, "Too many requests.", null],
  ["a header that cannot be read", { "retry-after": "soon" }, null, null]
] as const)
  it(`a refusal asks for a pause with ${what}`, () => {
    assert.strictEqual(askedPause(headers, words, now), pause)
  })

it("any words and headers give a pause or none", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), fc.string({ maxLength: 200 }), (header, words) => {
      const pause = askedPause(
        { "retry-after": header, "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": header },
        words,
        now
      )
      assert.isTrue(pause === null || pause >= 0)
    })
  )
})
