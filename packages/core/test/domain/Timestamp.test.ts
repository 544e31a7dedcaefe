import { fromMillis, GivenTimestamp, Timestamp } from "@reins/base/domain/Timestamp"
import { Either, FastCheck, Schema } from "effect"
import { assert, describe, it } from "vitest"

const read = Schema.decodeEither(GivenTimestamp)
const given = (text: string) => Either.getOrElse(read(text), () => undefined)

const two = (value: number) => String(value).padStart(2, "0")
const offsetOf = (minutes: number) =>
  `${minutes < 0 ? "-" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`

describe("a time that a caller gives", () => {
  it("is the same instant at any offset, in any case, with or without a fraction", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: Date.UTC(1970, 0, 2), max: Date.UTC(9999, 11, 30) }),
        FastCheck.integer({ min: -14 * 60, max: 14 * 60 }),
        FastCheck.constantFrom("T", "t", " "),
        (millis, minutes, between) => {
          const local = new Date(millis + minutes * 60_000).toISOString()
          const written = local.replace("T", between).replace("Z", offsetOf(minutes))
          assert.strictEqual(given(written), fromMillis(millis))
          assert.strictEqual(given(written.replace(/\.\d{3}/, "")), fromMillis(Math.floor(millis / 1000) * 1000))
          assert.strictEqual(given(written.replace(/(\.\d{3})/, "$1999")), fromMillis(millis))
        }
      )
    )
  })

  it.each([
    "2026-02-30T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-01T25:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:00",
    "2026-01-01",
    "0000-01-01T00:00:00+10:00",
    "9999-12-31T23:59:59-10:00",
    "2026-01-01T00:00:00+0100",
    "2026-01-01T00:00:00.Z",
    "1767225600000",
    "yesterday",
    ""
  ])("is none as %j", (text) => assert.isTrue(Either.isLeft(read(text))))

  it.each([
    ["2024-02-29T12:00:00Z", "2024-02-29T12:00:00.000Z"],
    ["2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z"],
    ["2026-01-01T00:30:00.5-09:30", "2026-01-01T10:00:00.500Z"]
  ])("%s is %s", (text, instant) => assert.strictEqual(given(text), Timestamp.make(instant)))
})
