import { assert, describe, it } from "@effect/vitest"
import { longestPauseMs, retryAfterMs } from "@reins/core/webhooks/RetryAfter"
import * as fc from "fast-check"

const nowMs = Date.parse("2026-03-01T12:00:00.000Z")

const asked = (status: number, retryAfter: string, date?: string) =>
  retryAfterMs({ status, headers: { "retry-after": retryAfter, ...(date !== undefined && { date }) } }, nowMs)

describe("retryAfterMs", () => {
  it("is in seconds or a date, for 429 and 503 alone", () => {
    for (const status of [429, 503]) {
      assert.strictEqual(asked(status, "120"), 120_000)
      assert.strictEqual(asked(status, " 0 "), 0)
      assert.strictEqual(asked(status, "Sun, 01 Mar 2026 12:02:00 GMT"), 120_000)
      assert.strictEqual(asked(status, "Sun, 01 Mar 2026 11:00:00 GMT"), 0)
    }
    for (const status of [200, 400, 410, 500, 502]) assert.strictEqual(asked(status, "120"), 0)
    assert.strictEqual(retryAfterMs({ status: 503, headers: {} }, nowMs), 0)
  })

  it("tells a date from the clock of the receiver, where that says its time", () => {
    const [date, until] = ["Sun, 01 Mar 2026 15:00:00 GMT", "Sun, 01 Mar 2026 15:00:30 GMT"]
    assert.strictEqual(asked(503, until, date), 30_000)
    assert.strictEqual(asked(503, until, "yesterday"), 3 * 3_600_000 + 30_000)
  })

  it("is a day at most", () => {
    assert.strictEqual(asked(429, "9".repeat(400)), longestPauseMs)
    assert.strictEqual(asked(429, "Fri, 01 Jan 2027 00:00:00 GMT"), longestPauseMs)
  })

  it("is nothing for what is neither", () => {
    for (const text of ["", "soon", "-5", "1.5", "1e3", "2026-03-02", "Sun, 99 Mar 2026 12:02:00 GMT"])
      assert.strictEqual(asked(429, text), 0, text)
    fc.assert(
      fc.property(fc.string(), (text) => {
        const ms = asked(429, text)
        return ms >= 0 && ms <= longestPauseMs
      })
    )
  })
})
