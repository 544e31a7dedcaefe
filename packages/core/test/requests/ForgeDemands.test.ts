import { MergeRequestId, ReviewId, ThreadId } from "@reins/base/domain/Ids"
import { type DemandFacts, unmetDemands } from "@reins/core/requests/conditions/ForgeDemands"
import type { MergeTerms } from "@reins/core/requests/rows/MergeConditions"
import type { JudgedReview, RequestThread } from "@reins/core/requests/rows/RequestParts"
import { type BranchDemand, methodFor } from "@reins/machine/forge/BranchDemands"
import { obstacleOf } from "@reins/machine/forge/MergeableState"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"

const head = "a".repeat(40)
const other = "b".repeat(40)
const unvalidated = { disableValidation: true } as const
const merge_request_id = MergeRequestId.make("mr_1", unvalidated)

const terms: MergeTerms = {
  checks: "required",
  approvals: 0,
  threads_resolved: false,
  verdict: null,
  heads: "own",
  method: "merge",
  delete_branch: false,
  max_wait_seconds: null
}

const review = (login: string, more: Partial<JudgedReview> = {}): JudgedReview => ({
  id: ReviewId.make("rvw_1", unvalidated),
  official: null,
  merge_request_id,
  author: { login, kind: "person" },
  state: "approved",
  head_sha: head,
  body: "",
  url: null,
  submitted_at: "2026-01-01T00:00:00Z",
  ...more
})

const openThread: RequestThread = {
  id: ThreadId.make("thr_1", unvalidated),
  merge_request_id,
  path: "a.txt",
  line: 1,
  side: "new",
  outdated: false,
  resolved: false,
  comments: []
}

const facts = (
  demands: ReadonlyArray<BranchDemand>,
  more: Omit<Partial<DemandFacts>, "sighting"> & { readonly sighting?: Partial<DemandFacts["sighting"]> } = {}
): DemandFacts => ({
  demands,
  obstacle: undefined,
  anyMethod: false,
  ...more,
  sighting: {
    headSha: head,
    isDraft: false,
    isOurs: true,
    conflicts: "none",
    checks: [],
    reviews: [],
    threads: [],
    left: {},
    rights: new Map([
      ["ann", true],
      ["bob", true]
    ]),
    isLate: false,
    unread: {},
    ...more.sighting
  }
})

const kinds = (given: DemandFacts, wanted = terms) => unmetDemands(wanted, given, []).map(({ kind }) => kind)
const saysNo = (word: string) => ({ kind: "forge_blocks" as const, names: [word], message: `It says ${word}.` })

const approvals = (count: number, ofHead = false): BranchDemand => ({
  kind: "approvals",
  count,
  ofHead,
  passable: true
})
const rule = (passable: boolean): BranchDemand => ({
  kind: "rule",
  rule: "workflows",
  say: "They have to pass.",
  passable
})

describe("the demands of a forge", () => {
  it("approvals count of people who may write, by the newest review of each, and of this head where that is wanted", () => {
    const stale = review("ann", { head_sha: other })
    const rows: ReadonlyArray<readonly [BranchDemand, ReadonlyArray<JudgedReview>, boolean]> = [
      [approvals(1), [], false],
      [approvals(1), [review("ann")], true],
      [approvals(2), [review("ann")], false],
      [approvals(2), [review("ann"), review("bob")], true],
      [approvals(2), [review("ann"), review("ann")], false],
      [approvals(1), [review("eve")], false],
      [approvals(1), [review("ann", { author: { login: "ann", kind: "bot" } })], false],
      [approvals(1), [review("ann", { author: { login: "ann", kind: "self" } })], false],
      [approvals(1), [review("ann", { state: "commented" })], false],
      [
        approvals(1),
        [review("ann"), review("ann", { state: "dismissed", submitted_at: "2026-01-02T00:00:00Z" })],
        false
      ],
      [approvals(1), [review("ann", { official: false })], false],
      [approvals(1), [stale], true],
      [approvals(1, true), [stale], false],
      [approvals(1, true), [review("ann", { head_sha: null })], false]
    ]
    for (const [demand, reviews, isMet] of rows)
      assert.deepStrictEqual(
        kinds(facts([demand], { sighting: { reviews } })),
        isMet ? [] : ["forge_approvals"],
        JSON.stringify([demand, reviews])
      )
  })

  it("somebody else than the last one who has pushed approves, and where nobody tells who that is, two do", () => {
    const lastPush: BranchDemand = { kind: "last_push", passable: true }
    const met = (reviews: ReadonlyArray<JudgedReview>, isOurs: boolean) =>
      kinds(facts([lastPush], { sighting: { reviews, isOurs } })).length === 0
    assert.isFalse(met([], true))
    assert.isTrue(met([review("ann")], true))
    assert.isFalse(met([review("ann", { head_sha: other })], true))
    assert.isFalse(met([review("ann")], false))
    assert.isTrue(met([review("ann"), review("bob")], false))
  })

  it("a rule that nothing here can judge holds up where the token may pass it by, and is left to the forge where not", () => {
    assert.deepStrictEqual(kinds(facts([rule(true)])), ["forge_rule"])
    assert.deepStrictEqual(kinds(facts([rule(false)])), [])
    assert.deepStrictEqual(kinds(facts([rule(false)], { obstacle: saysNo("blocked") })), [
      "forge_demands_more",
      "forge_rule"
    ])
    assert.deepStrictEqual(kinds(facts([{ ...approvals(1), passable: false }])), [])
    assert.deepStrictEqual(kinds(facts([{ ...approvals(1), passable: false }], { obstacle: saysNo("blocked") })), [
      "forge_approvals"
    ])
  })

  it("a word of the forge against the merge holds it up, and is told unless another reason explains it", () => {
    for (const word of ["blocked", "behind", "not_approved", "a_word_of_tomorrow"])
      assert.deepStrictEqual(kinds(facts([], { obstacle: saysNo(word) })), ["forge_demands_more"])
    assert.deepStrictEqual(kinds(facts([approvals(1)], { obstacle: saysNo("blocked") })), ["forge_approvals"])
    assert.deepStrictEqual(kinds(facts([approvals(1)], { obstacle: saysNo("behind") })), [
      "forge_approvals",
      "forge_demands_more"
    ])
  })

  it("threads and the queue hold up whatever the terms say", () => {
    const threads: BranchDemand = { kind: "threads", passable: true }
    assert.deepStrictEqual(kinds(facts([threads], { sighting: { threads: [openThread] } })), ["open_threads"])
    assert.deepStrictEqual(kinds(facts([threads], { sighting: { threads: [{ ...openThread, resolved: true }] } })), [])
    for (const passable of [true, false])
      assert.deepStrictEqual(kinds(facts([{ kind: "queue", passable }])), ["merge_queue"])
  })

  it("the way to merge is one that all rules take, the wanted one first", () => {
    const methods = ["merge", "squash", "rebase"] as const
    const list = fc.subarray([...methods])
    fc.assert(
      fc.property(fc.array(list, { maxLength: 3 }), fc.constantFrom(...methods), fc.boolean(), (lists, wanted, any) => {
        const demands = lists.map((each): BranchDemand => ({ kind: "methods", methods: each, passable: true }))
        const taken = methods.filter((method) => lists.every((each) => each.includes(method)))
        const method = methodFor(demands, wanted, any)
        if (taken.includes(wanted)) assert.strictEqual(method, wanted)
        else assert.strictEqual(method, any ? taken[0] : undefined)
        const unmet = kinds(facts(demands, { anyMethod: any }), { ...terms, method: wanted })
        assert.deepStrictEqual(unmet, method === undefined ? ["merge_method"] : [])
      })
    )
  })

  it("GitHub's states of a merge are none against it, or have a sentence", () => {
    for (const state of ["clean", "has_hooks", "unstable", "draft", "dirty", undefined])
      assert.isUndefined(obstacleOf(true, state), state)
    assert.isUndefined(obstacleOf(null, "unknown"))
    for (const state of ["blocked", "behind", "unknown", "a_state_of_tomorrow", "", "constructor", "CLEAN"])
      assert.deepInclude(obstacleOf(true, state) ?? {}, { word: state })
  })
})
