import { assert, describe, it } from "@effect/vitest"
import { mostFailingCalls, Witness } from "@reins/core/execution/run/Witness"
import { lackProblem, verdictOn } from "@reins/core/execution/turn/Verdict"
import { HarnessFailure } from "@reins/machine/harness/HarnessEvent"
import type { ModelCall } from "@reins/machine/relay/gateway/ModelCall"
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
  names: "",
  pauseMs: null,
  lack: null,
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

const overflow: ModelCall = {
  ...refused(400),
  names: "invalid_request_error context_length_exceeded",
  words: "Too long."
}

describe("a request that cannot be answered", () => {
  it.effect("is made twice at most, because an agent may compact its conversation once", () =>
    Effect.gen(function* () {
      const witness = yield* hearing([answered, overflow])
      assert.isUndefined(witness.refusal())
      witness.ended(title(answered))
      witness.ended(overflow)
      assert.strictEqual(witness.refusal()?.status, 400)
      yield* witness.gaveUp
      const verdict = verdictOn(witness.testimony(), undefined)
      assert.strictEqual(verdict?.reason, "context_exceeded")
      assert.match(verdict?.message ?? "", /^The gateway answered 400: Too long\. Start a new session/)
      assert.notMatch(verdict?.message ?? "", /retry the turn/i)
    })
  )

  it.effect("is forgotten once the work goes on, and counts for the model of the turn alone", () =>
    Effect.gen(function* () {
      for (const calls of [
        [overflow, answered, overflow, answered, overflow],
        [other(overflow), other(overflow), other(overflow)],
        [title(overflow), title(overflow), title(overflow)],
        [refused(500), refused(429), refused(529), refused(500)],
        [overflow, { ...refused(429), pauseMs: 1000 }, overflow]
      ])
        assert.isUndefined((yield* hearing(calls)).refusal(), JSON.stringify(calls.map(({ status }) => status)))
      for (const status of [400, 401, 402, 403, 404, 413, 422])
        assert.isDefined((yield* hearing([refused(status), refused(status)])).refusal(), String(status))
    })
  )

  it.effect("is told by its own words, whatever the agent makes of them", () =>
    Effect.gen(function* () {
      const quota: ModelCall = { ...refused(429), names: "insufficient_quota" }
      for (const calls of [[overflow], [answered, overflow], [answered, title(answered), overflow]])
        for (const failure of [undefined, said("upstream_error"), said("output_invalid"), said("quota_exhausted")])
          assert.strictEqual(yield* reasonOf(calls, failure), "context_exceeded")
      assert.strictEqual(yield* reasonOf([answered, quota], said("upstream_error")), "quota_exhausted")
      assert.isUndefined(yield* reasonOf([overflow], said("timeout")))
    })
  )
})

describe("a pause that a gateway asks for", () => {
  it.effect("ends the turn when it is long, and tells how long", () =>
    Effect.gen(function* () {
      const asking = (pauseMs: number): ModelCall => ({ ...refused(429), pauseMs })
      for (const short of [0, 20_000, 120_000]) assert.isUndefined((yield* hearing([asking(short)])).refusal())
      for (const [long, words] of [
        [120_001, "3 minutes"],
        [3_600_000, "60 minutes"],
        [7_200_000, "2 hours"],
        [86_400_000, "24 hours"]
      ] as const) {
        const witness = yield* hearing([answered, asking(long)])
        yield* witness.gaveUp
        const verdict = verdictOn(witness.testimony(), undefined)
        assert.strictEqual(verdict?.reason, "quota_exhausted")
        assert.include(verdict?.message, `It asks for a pause of ${words}.`)
      }
      assert.isUndefined((yield* hearing([title(asking(3_600_000)), other(asking(3_600_000))])).refusal())
    })
  )
})

describe("an answer that is not whole", () => {
  const cut: ModelCall = { ...answered, lack: "cut" }
  const withheld: ModelCall = { ...answered, lack: "withheld" }
  const lackIn = (calls: ReadonlyArray<ModelCall>, ...rest: [HarnessFailure?, Parameters<typeof lackProblem>[2]?]) =>
    Effect.map(hearing(calls), (witness) => lackProblem(witness.testimony(), rest[0], rest[1] ?? "completed")?.reason)

  it.effect("is the reason of a turn whose last work it is", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* lackIn([answered, cut]), "answer_cut")
      assert.strictEqual(yield* lackIn([withheld]), "answer_withheld")
      assert.strictEqual(yield* lackIn([cut, title(answered)]), "answer_cut")
      assert.strictEqual(yield* lackIn([withheld], said("output_invalid")), "answer_withheld")
      assert.strictEqual(yield* lackIn([], undefined, "limit"), "answer_cut")
      assert.strictEqual(yield* lackIn([answered], undefined, "refused"), "answer_withheld")
    })
  )

  it.effect("says nothing where the agent went on, was stopped, or has a better word", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* lackIn([cut, answered]))
      assert.isUndefined(yield* lackIn([answered, title(cut), other(withheld)]))
      for (const reason of ["cancelled", "denied"] as const) assert.isUndefined(yield* lackIn([cut], undefined, reason))
      assert.isUndefined(yield* lackIn([cut], said("harness_crashed")))
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
        // A turn that was given up has its reason from the call that it was given up for.
        fc.pre(witness.refusal() === undefined)
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
