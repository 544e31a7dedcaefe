import { assert, describe, it } from "@effect/vitest"
import { type Care, careSentence, conditionsSentence, type MergeRequest, unmetPhrases } from "../src/index.js"

type Conditions = NonNullable<MergeRequest["conditions"]>
type Unmet = Conditions["waiting_for"][number]

const care = (of: Partial<Care>) =>
  careSentence({
    checks: "fix",
    reviews: "off",
    conflicts: "off",
    max_turns: 5,
    turns: 1,
    state: "watching",
    reason: null,
    reason_message: null,
    ...of
  })

const unmet = (kind: Unmet["kind"], names: ReadonlyArray<string> = [], message = "Something."): Unmet => ({
  kind,
  names,
  message
})

const conditions = (of: Partial<Conditions>): Pick<MergeRequest, "conditions" | "standing"> => ({
  standing: null,
  conditions: {
    checks: "all",
    approvals: 2,
    threads_resolved: true,
    verdict: null,
    heads: "own",
    method: "merge",
    delete_branch: false,
    max_wait_seconds: null,
    state: "waiting",
    reason: null,
    reason_message: null,
    waiting_for: [],
    head_sha: null,
    refusals: 0,
    acts_for: "acct_1",
    set_at: "2026-01-01T00:00:00.000Z",
    give_up_at: null,
    ...of
  }
})

describe("careSentence", () => {
  it("says what is done without a person", () => {
    assert.strictEqual(care({}), "The session mends failed checks. 1 of 5 turns used.")
    assert.strictEqual(
      care({ reviews: "propose" }),
      "The session mends failed checks and proposes changes for comments of reviewers. 1 of 5 turns used."
    )
    assert.strictEqual(
      care({ conflicts: "fix" }),
      "The session mends failed checks and merges conflicts with the base branch. 1 of 5 turns used."
    )
    assert.strictEqual(care({ checks: "off" }), "Care is on, but does nothing.")
    assert.strictEqual(
      care({ deliver: "every_turn" }),
      "The session mends failed checks and pushes the changes of every turn. 1 of 5 turns used."
    )
    assert.strictEqual(care({ state: "working" }), "A turn is at work on it. 1 of 5 turns used.")
  })

  it("tells of a proposal", () => {
    const working = {
      checks: "propose",
      reviews: "off",
      conflicts: "off",
      max_turns: 5,
      turns: 1,
      state: "working"
    } as const
    const said = careSentence({ ...working, reason: null, reason_message: null }, { state: "proposed" })
    assert.strictEqual(said, "A change is proposed. Review it, then deliver it. 1 of 5 turns used.")
  })

  it("says why a person has to go on, in the words of the server for a reason that is not known", () => {
    assert.strictEqual(
      care({ state: "handed_over", reason: "turns_exhausted", reason_message: "No." }),
      "It is left to a person. All of its turns are used up. Start care again to go on."
    )
    // Boundary: a newer server has more reasons.
    const reason = "toString" as NonNullable<Care["reason"]>
    assert.strictEqual(care({ state: "handed_over", reason, reason_message: "Rain." }), "It is left to a person. Rain.")
    assert.strictEqual(care({ state: "ended", reason: "removed" }), "Care has ended. Somebody stopped it.")
  })
})

describe("conditionsSentence", () => {
  it("names all that a merge by conditions waits for", () => {
    assert.strictEqual(conditionsSentence({ conditions: null, standing: null }), "")
    const waiting_for = [
      unmet("checks_pending"),
      unmet("check", ["lint"]),
      unmet("checks_failing", ["a", "b"]),
      unmet("approvals"),
      unmet("forge", [], "A rule says no.")
    ]
    assert.deepStrictEqual(unmetPhrases(conditions({ waiting_for })), [
      "a check that passes",
      "the required check lint, not reported yet",
      "the failed checks a and b",
      "2 approvals of this commit",
      "the forge, which declined the merge: A rule says no"
    ])
    assert.strictEqual(
      conditionsSentence(conditions({ waiting_for: [unmet("draft")] })),
      "It is merged by itself, and waits for somebody who marks it as ready."
    )
    // Boundary: a newer server has more kinds.
    assert.deepStrictEqual(unmetPhrases(conditions({ waiting_for: [unmet("toString" as Unmet["kind"])] })), [
      "Something"
    ])
  })

  it("says how they ended", () => {
    assert.strictEqual(conditionsSentence(conditions({})), "Its conditions hold, and it is merged in a moment.")
    assert.strictEqual(
      conditionsSentence(conditions({ state: "given_up", reason: "checks_do_not_run" })),
      "It is no longer merged by itself. No check has reported in time, or one that the forge demands has not. Look at the CI, or merge it yourself."
    )
    assert.strictEqual(
      conditionsSentence(conditions({ state: "given_up", reason: "waited_too_long" })),
      "It is no longer merged by itself. The conditions did not hold in time. Set them again to go on."
    )
    assert.strictEqual(
      conditionsSentence(conditions({ state: "given_up", reason: "auth_required" })),
      "It is no longer merged by itself. The forge refused the credential for half an hour. Mend the connection, then set the conditions again."
    )
  })
})
