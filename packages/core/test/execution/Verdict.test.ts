import { assert, describe, it } from "@effect/vitest"
import { verdictOn } from "@reins/core/execution/Verdict"
import { mostFailingCalls, Witness } from "@reins/core/execution/Witness"
import { HarnessFailure } from "@reins/core/harness/HarnessEvent"
import type { ModelCall } from "@reins/core/relay/gateway/ModelCall"
import { Effect } from "effect"
import * as fc from "fast-check"

const answered: ModelCall = {
  protocol: "openai_chat",
  model: "own",
  hasTools: true,
  startedAt: 0,
  endedAt: 1,
  outcome: "answered",
  status: 200,
  words: null,
  usage: null
}
const refused = (status: number): ModelCall => ({ ...answered, outcome: "refused", status, words: "No." })
const title = (call: ModelCall): ModelCall => ({ ...call, hasTools: false })
const other = (call: ModelCall): ModelCall => ({ ...call, model: "other" })

/** Lets every call out. */
const open = {
  admit: () => Promise.resolve({ admission: undefined }),
  withdrawn: () => undefined,
  ended: () => undefined
}

const hearing = (calls: ReadonlyArray<ModelCall>, model: string | null = "own") =>
  Effect.map(Witness.make(model, open), (witness) => {
    for (const call of calls) witness.ended(call)
    return witness
  })

const reasonOf = (calls: ReadonlyArray<ModelCall>, failure?: HarnessFailure) =>
  Effect.map(hearing(calls), (witness) => verdictOn(witness.testimony(), failure)?.reason)

const said = (reason: HarnessFailure["reason"]) =>
  new HarnessFailure({ reason, message: "As the agent says.", retryable: true })

describe("the verdict on a turn that its agent calls a success", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<ModelCall>, string | undefined]> = [
    ["without calls is a success", [], undefined],
    ["whose calls were answered is a success", [title(answered), answered, answered], undefined],
    ["whose only call was refused has the reason of the status", [refused(401)], "credential_invalid"],
    ["is the same for 403", [refused(403)], "credential_invalid"],
    ["is the same for 402", [refused(402)], "quota_exhausted"],
    ["is the same for 429", [refused(429)], "quota_exhausted"],
    ["is the same for 400", [refused(400)], "upstream_error"],
    ["is the same for 500", [refused(500)], "upstream_error"],
    [
      "whose calls were all refused has the last reason",
      [refused(500), title(refused(500)), refused(401)],
      "credential_invalid"
    ],
    ["whose answer was dropped failed", [{ ...answered, outcome: "broken_off" }], "upstream_error"],
    ["whose answer was garbled failed", [{ ...answered, outcome: "garbled" }], "upstream_error"],
    ["whose gateway was not there failed", [{ ...answered, outcome: "unreachable", status: 502 }], "upstream_error"],
    ["whose retry was answered is a success", [refused(500), refused(429), answered], undefined],
    ["whose work was refused is no success because of a title", [refused(401), title(answered)], "credential_invalid"],
    ["whose title alone was refused is a success", [answered, title(refused(500))], undefined],
    ["whose last work failed is no success", [answered, refused(500), title(answered)], "upstream_error"],
    [
      "whose work failed is no success because of another model",
      [answered, refused(429), other(answered)],
      "quota_exhausted"
    ],
    [
      "whose other model failed is a success",
      [answered, other(refused(500)), answered, other(refused(500))],
      undefined
    ],
    ["with another model alone is judged by that", [other(answered), other(refused(500))], "upstream_error"],
    ["is not judged by calls that the agent gave up", [answered, { ...answered, outcome: "abandoned" }], undefined]
  ]
  for (const [name, calls, reason] of cases)
    it.effect(name, () => Effect.map(reasonOf(calls), (found) => assert.strictEqual(found, reason)))
})

describe("the verdict on a turn that its agent calls a failure", () => {
  it.effect("is the agent's own, in its own words, where both agree or the status says little", () =>
    Effect.gen(function* () {
      for (const [status, reason] of [
        [401, "credential_invalid"],
        [400, "credential_invalid"],
        [400, "quota_exhausted"],
        [500, "upstream_error"],
        [401, "timeout"],
        [401, "context_unavailable"]
      ] as const)
        assert.isUndefined(yield* reasonOf([refused(status)], said(reason)), `${status} ${reason}`)
      assert.isUndefined(yield* reasonOf([answered, refused(401)], said("upstream_error")))
    })
  )

  it.effect("is that of the status where all calls were refused and the agent says something else", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reasonOf([refused(401)], said("upstream_error")), "credential_invalid")
      assert.strictEqual(yield* reasonOf([refused(429)], said("output_invalid")), "quota_exhausted")
      assert.strictEqual(yield* reasonOf([refused(503)], said("credential_invalid")), "upstream_error")
      assert.strictEqual(yield* reasonOf([refused(401)], said("harness_crashed")), "credential_invalid")
    })
  )
})

describe("a witness", () => {
  it.effect("gives a turn up with so many failures of its work in a row, and lets no further call out", () =>
    Effect.gen(function* () {
      const row = Array.from({ length: mostFailingCalls }, () => refused(500))
      const witness = yield* hearing(row.slice(1))
      witness.ended(title(answered))
      assert.isUndefined(witness.refusal())
      witness.ended(refused(429))
      assert.strictEqual(witness.refusal()?.status, 400)
      yield* witness.gaveUp
      // A call that was under way may still be answered.
      witness.ended(answered)
      const verdict = verdictOn(witness.testimony(), undefined)
      assert.strictEqual(verdict?.reason, "quota_exhausted")
      assert.include(verdict?.message, "30 model calls in a row failed")
      const mended = yield* hearing([...row.slice(1), answered, ...row.slice(1)])
      assert.isUndefined(mended.refusal())
    })
  )

  it.effect("gives each call once, also those that were put back", () =>
    Effect.gen(function* () {
      const witness = yield* hearing([refused(500), answered])
      const taken = witness.take()
      assert.isEmpty(witness.take())
      witness.ended(title(answered))
      witness.putBack(taken)
      assert.deepStrictEqual(witness.take(), [refused(500), answered, title(answered)])
    })
  )

  it("never calls a turn a success whose last work failed, and never a failure whose last work was answered", () => {
    const call = fc.constantFrom(answered, refused(500), refused(401), title(answered), title(refused(500)))
    fc.assert(
      fc.property(fc.array(call, { maxLength: 25 }), (calls) => {
        const witness = Effect.runSync(hearing(calls))
        const verdict = verdictOn(witness.testimony(), undefined)
        const last = calls.filter(({ hasTools }) => hasTools === true).at(-1)
        if (last !== undefined) assert.strictEqual(verdict === undefined, last.outcome === "answered")
        else
          assert.strictEqual(
            verdict === undefined,
            calls.length === 0 || calls.some(({ outcome }) => outcome === "answered")
          )
      })
    )
  })
})
