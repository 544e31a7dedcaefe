import { assert, it } from "@effect/vitest"
import { UsageMeter } from "@reins/machine/harness/acp/UsageMeter"
import type { HarnessUsage } from "@reins/machine/harness/HarnessEvent"
import * as fc from "fast-check"

const counted = (
  scope: HarnessUsage["scope"],
  input_tokens: number | null,
  output_tokens: number | null
): HarnessUsage => ({
  _tag: "usage",
  scope,
  input_tokens,
  output_tokens,
  cached_tokens: null,
  reasoning_tokens: null
})

it("makes turns of what a process counts: their sum is the count, and a count that falls has begun anew", () => {
  const turn = fc.record({ used: fc.nat({ max: 1_000_000 }), isNew: fc.boolean() })
  fc.assert(
    fc.property(fc.array(turn), (turns) => {
      const meter = new UsageMeter()
      let total = 0
      for (const { isNew, used } of turns) {
        // A count that begins anew above the last one looks like one that goes on.
        const startsAnew = isNew && used < total
        total = startsAnew ? used : total + used
        assert.deepStrictEqual(meter.read(counted("process", total, null)), counted("turn", used, null))
      }
    })
  )
})

it("leaves every other report as it is, and takes a figure that was not counted before as whole", () => {
  const meter = new UsageMeter()
  for (const scope of ["turn", "last_call", "context"] as const)
    assert.deepStrictEqual(meter.read(counted(scope, 7, 1)), counted(scope, 7, 1))
  assert.deepStrictEqual(meter.read(counted("process", 7, null)), counted("turn", 7, null))
  assert.deepStrictEqual(meter.read(counted("process", null, 3)), counted("turn", null, 3))
})
