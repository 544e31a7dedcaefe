import { BodyEnd, BodyStart } from "@reins/machine/outbound/KeptBody"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"

const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 })

describe("what is kept of a body", () => {
  it("is its end, byte for byte, in whatever pieces it comes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme", maxLength: 30 }), { maxLength: 20 }),
        fc.integer({ min: 4, max: 80 }),
        fc.integer({ min: 1, max: 9 }),
        (texts, most, size) => {
          const whole = Buffer.from(texts.join(""))
          const kept = new BodyEnd(most)
          for (let at = 0; at < whole.length; at += size) kept.add(whole.subarray(at, at + size))
          const { body, cut = false } = kept.body()
          assert.strictEqual(cut, whole.length > most)
          assert.isTrue(whole.toString("utf8").endsWith(body))
          assert.isAbove(Buffer.byteLength(body), Math.min(whole.length, most) - 4)
          assert.isAtMost(Buffer.byteLength(body), most)
        }
      )
    )
  })

  it("is the whole where nothing limits it", () => {
    fc.assert(
      fc.property(chunks, (given) => {
        const kept = new BodyStart()
        for (const chunk of given) kept.add(Buffer.from(chunk))
        const whole = Buffer.concat(given)
        assert.deepStrictEqual([kept.size, kept.body().body], [whole.length, whole.toString("utf8")])
      })
    )
  })
})
