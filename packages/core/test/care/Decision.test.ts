import { assert, describe, it } from "@effect/vitest"
import { decide, type SeenComment, type SeenRed } from "@reins/core/care/Decision"
import fc from "fast-check"

import { comment, conflicts, later, memory, red, rules, seen, stranger, told, unfound, vain } from "./Sights.js"

const scenarios: ReadonlyArray<readonly [string, string, string]> = [
  ["a red check", told(seen({ checks: [red()] })), "checks:h1:test"],
  ["a red check that may fail", told(seen({ checks: [red({ optional: true })] })), "wait"],
  ["red on the base too, while reviewers may write", told(seen({ checks: [red({ onBase: true })] })), "wait"],
  [
    "red on the base too, and nothing else to care for",
    told(seen({ checks: [red({ onBase: true })] }), memory(), { reviews: "off" }),
    "red_on_base"
  ],
  [
    "red on the base too, while another runs",
    told(seen({ checks: [red({ onBase: true }), red({ key: "lint", state: "pending" })] }), memory(), {
      reviews: "off"
    }),
    "wait"
  ],
  [
    "red on the base too, and nobody cares for checks",
    told(seen({ checks: [red({ onBase: true })] }), memory(), { checks: "off", reviews: "off" }),
    "wait"
  ],
  [
    "red on the base too, which nothing begins anew",
    told(seen({ checks: [red({ onBase: true })] }), memory(), { rerun_first: true }),
    "wait"
  ],
  [
    "red on the base too, beside another that is red here alone",
    told(seen({ checks: [red({ onBase: true }), red({ key: "lint", name: "lint", onBase: false })] })),
    "checks:h1:lint"
  ],
  ["red, and green on the base", told(seen({ checks: [red({ onBase: false })] })), "checks:h1:test"],
  ["checks that cannot be read", told(seen({ checks: undefined })), "wait"],
  ["checks that nobody cares for", told(seen({ checks: [red()] }), memory(), { checks: "off" }), "wait"],
  ["red a moment ago", told(seen({ checks: [red({ endedMs: later - 1_000 })] })), "wait"],
  ["red without a time", told(seen({ checks: [red({ endedMs: null })] })), "checks:h1:test"],
  ["red by a clock that is ahead", told(seen({ checks: [red({ endedMs: later * 2 })] })), "checks:h1:test"],
  [
    "red while another runs",
    told(seen({ checks: [red({ endedMs: later - 5 * 60_000 }), red({ key: "lint", state: "pending" })] })),
    "wait"
  ],
  [
    "red while another hangs",
    told(seen({ checks: [red(), red({ key: "lint", state: "pending" })] })),
    "checks:h1:test"
  ],
  ["red, begun anew first", told(seen({ checks: [red()] }), memory(), { rerun_first: true }), "rerun"],
  [
    "red, where nothing begins anew",
    told(seen({ checks: [red()], canRerun: false }), memory(), { rerun_first: true }),
    "checks:h1:test"
  ],
  [
    "red, and was begun anew",
    told(seen({ checks: [red()] }), memory({ reruns: new Set(["run:test@h1"]) }), { rerun_first: true }),
    "checks:h1:test"
  ],
  ["red, and had its turn", told(seen({ checks: [red()] }), memory({ handled: new Set(["checks:h1:test"]) })), "wait"],
  [
    "red for the third time in the same way",
    told(seen({ checks: [red()] }), memory({ failures: ["test", "test"] })),
    "same_failure"
  ],
  ["red in another way", told(seen({ checks: [red()] }), memory({ failures: ["test", "lint"] })), "checks:h1:test"],
  ["red, no turn left", told(seen({ checks: [red()] }), memory({ turns: 3 })), "turns_exhausted"],
  ["red, no budget left", told(seen({ checks: [red()] }), memory({ isSpent: true })), "budget_exhausted"],
  ["red, and a person has work there", told(seen({ checks: [red()], isUndelivered: true })), "undelivered_changes"],
  ["red, and a person works", told(seen({ checks: [red()], isBusy: true })), "wait"],
  ["a push that the forge has not seen", told(seen({ checks: [red()], isBehind: true })), "wait"],
  ["a comment of a person", told(seen({ comments: [comment()] })), "comment:7"],
  ["a comment of a moment ago", told(seen({ comments: [comment({ writtenMs: later - 10 })] })), "wait"],
  ["our own words through a person's token", told(seen({ comments: [comment({ isOurs: true })] })), "wait"],
  [
    "a writer who asks to stop, while nobody cares for comments",
    told(seen({ comments: [comment({ body: "/reins stop" })], checks: [red()] }), memory(), { reviews: "off" }),
    "stopped_by_comment"
  ],
  [
    "a bot by its name that repeats the word of somebody",
    told(seen({ comments: [comment({ body: "/reins stop" }, { login: "lint[bot]", isBot: true })] })),
    "comment:7"
  ],
  [
    "a bot by its name, where the forge knows no bots",
    told(seen({ comments: [comment({ body: "/reins stop" }, { login: "lint[bot]" })] })),
    "comment:7"
  ],
  [
    "red, while the base could not be read a moment ago",
    told(seen({ checks: [red()], baseUnreadSinceMs: later - 60_000 })),
    "wait"
  ],
  [
    "red and green on the base, while the base could not be read a moment ago",
    told(seen({ checks: [red({ onBase: false })], baseUnreadSinceMs: later - 60_000 })),
    "checks:h1:test"
  ],
  [
    "red, while the base could not be read for a quarter of an hour",
    told(seen({ checks: [red()], baseUnreadSinceMs: later - 15 * 60_000 })),
    "checks:h1:test"
  ],
  [
    "red on the base once, while the base cannot be read",
    told(seen({ checks: [red({ onBase: true })], baseUnreadSinceMs: 0 }), memory(), { reviews: "off" }),
    "wait"
  ],
  ["red, and git had another head a moment ago", told(seen({ checks: [red()] }), vain(1, 9_000)), "wait"],
  ["red, and git had another head before that", told(seen({ checks: [red()] }), vain(1, 10_000)), "checks:h1:test"],
  ["red, and git had another head twice", told(seen({ checks: [red()] }), vain(2, 19_000)), "wait"],
  [
    "red, and git has had another head eight times",
    told(seen({ checks: [red()] }), vain(8, 10_000)),
    "head_keeps_moving"
  ],
  ["a stranger", told(seen({ comments: [comment({}, stranger)] })), "wait"],
  ["a stranger who asks to stop", told(seen({ comments: [comment({ body: "/reins stop" }, stranger)] })), "wait"],
  [
    "a writer who asks to stop",
    told(seen({ comments: [comment({ body: "please\n/reins stop" })] })),
    "stopped_by_comment"
  ],
  ["a writer who writes about stopping", told(seen({ comments: [comment({ body: "use /reins stop" })] })), "comment:7"],
  ["another bot", told(seen({ comments: [comment({}, { login: "x[bot]", isBot: true })] })), "wait"],
  [
    "a bot by its name",
    told(seen({ comments: [comment({}, { login: "lint[bot]", isBot: true, mayWrite: false })] })),
    "comment:7"
  ],
  ["a thread that is resolved", told(seen({ comments: [comment({ isResolved: true })] })), "wait"],
  ["comments that nobody cares for", told(seen({ comments: [comment()] }), memory(), { reviews: "off" }), "wait"],
  ["a fork", told(seen({ isFork: true, checks: [red()] })), "fork"],
  [
    "a check that waits for approval",
    told(seen({ checks: [red({ state: "action_required" })] })),
    "checks_need_approval"
  ],
  ["cancelled", told(seen({ checks: [red({ state: "cancelled" })] })), "rerun"],
  [
    "cancelled where nothing begins anew",
    told(seen({ checks: [red({ state: "cancelled" })], canRerun: false })),
    "checks_do_not_run"
  ],
  [
    "cancelled again",
    told(seen({ checks: [red({ state: "cancelled" })] }), memory({ reruns: new Set(["run:test@h1"]) })),
    "checks_do_not_run"
  ],
  [
    "another one is red beside it",
    told(seen({ checks: [red(), red({ key: "lint", name: "lint", state: "cancelled" })] })),
    "checks:h1:test"
  ],
  ["all together", told(seen({ checks: [red()], comments: [comment()] })), "checks:h1:test comment:7"],
  ["a conflict with the base, which git proves first", told(seen({ isConflicted: true })), "conflict:h1:main"],
  [
    "a conflict with the base, which git has proved",
    told(seen({ isConflicted: true }), memory({ handled: new Set(["conflict:h1:main"]) })),
    "merge_conflict"
  ],
  ["a conflict beside a red check", told(seen({ isConflicted: true, checks: [red()] })), "checks:h1:test"],
  [
    "a conflict that nobody cares for",
    told(seen({ isConflicted: true }), memory(), { checks: "off", reviews: "off" }),
    "wait"
  ],
  ["a conflict to mend", told(seen({ isConflicted: true }), memory(), conflicts), "conflict:h1:main"],
  [
    "a conflict to mend beside all else",
    told(seen({ isConflicted: true, checks: [red()], comments: [comment()] }), memory(), conflicts),
    "conflict:h1:main"
  ],
  [
    "a conflict to mend alone",
    told(seen({ isConflicted: true }), memory(), { ...conflicts, checks: "off", reviews: "off" }),
    "conflict:h1:main"
  ],
  [
    "a conflict with another base",
    told(seen({ isConflicted: true, base: "next" }), memory({ handled: new Set(["conflict:h1:main"]) }), conflicts),
    "conflict:h1:next"
  ],
  [
    "a conflict that had its turn",
    told(seen({ isConflicted: true }), memory({ handled: new Set(["conflict:h1:main"]) }), conflicts),
    "merge_conflict"
  ],
  ["a conflict that git has not found a moment ago", told(seen({ isConflicted: true }), unfound(1), conflicts), "wait"],
  ["the same, beside a red check", told(seen({ isConflicted: true, checks: [red()] }), unfound(1)), "checks:h1:test"],
  [
    "a conflict that git has not found ten minutes ago",
    told(seen({ isConflicted: true }), unfound(10), conflicts),
    "conflict:h1:main:again"
  ],
  ["the same, which nobody mends", told(seen({ isConflicted: true }), unfound(10)), "conflict:h1:main:again"],
  ["a conflict that git has not found again", told(seen({ isConflicted: true }), unfound(20, 1), conflicts), "wait"],
  [
    "a conflict that git has not found twice, ten minutes ago",
    told(seen({ isConflicted: true }), unfound(20, 10), conflicts),
    "merge_conflict"
  ],
  [
    "a conflict for the third time",
    told(seen({ isConflicted: true }), memory({ failures: ["conflict:main", "conflict:main"] }), {
      ...conflicts,
      max_turns: 9
    }),
    "same_failure"
  ],
  ["a conflict, no turn left", told(seen({ isConflicted: true }), memory({ turns: 3 }), conflicts), "turns_exhausted"],
  [
    "a conflict, no budget left",
    told(seen({ isConflicted: true }), memory({ isSpent: true }), conflicts),
    "budget_exhausted"
  ],
  [
    "a conflict, and a person has work there",
    told(seen({ isConflicted: true, isUndelivered: true }), memory(), conflicts),
    "undelivered_changes"
  ],
  ["a conflict, and a person works", told(seen({ isConflicted: true, isBusy: true }), memory(), conflicts), "wait"],
  [
    "a conflict of a head before our push",
    told(seen({ isConflicted: true, isBehind: true }), memory(), conflicts),
    "wait"
  ],
  [
    "no check at all, and nothing else to care for",
    told(seen({ isSilent: true }), memory(), { reviews: "off" }),
    "checks_do_not_run"
  ],
  ["no check at all, while reviewers may write", told(seen({ isSilent: true })), "wait"],
  [
    "no check at all, and nobody cares for checks",
    told(seen({ isSilent: true }), memory(), { checks: "off", reviews: "off" }),
    "wait"
  ],
  ["green", told(seen({ checks: [red({ state: "passing" })] })), "wait"]
]

describe("the decision of care", () => {
  for (const [what, is, wanted] of scenarios) it(`${what}: ${wanted}`, () => assert.strictEqual(is, wanted))

  it("proposes when one of its causes is only to be proposed", () => {
    const step = decide(
      seen({ checks: [red()], comments: [comment()] }),
      memory(),
      { ...rules, reviews: "propose" },
      later
    )
    assert.isTrue(step.do === "turn" && step.proposes)
  })

  it("proposes the merge of a conflict when that is only to be proposed, whatever the rest is", () => {
    const step = decide(seen({ isConflicted: true }), memory(), { ...rules, conflicts: "propose" }, later)
    assert.isTrue(step.do === "turn" && step.proposes && step.isConflict && step.checks.length === 0)
  })

  it("gives no turn, and begins nothing anew, for checks that are red on the base too", () => {
    const check = fc.record({
      key: fc.constantFrom("test", "lint", "docs"),
      state: fc.constantFrom("failing" as const, "passing" as const, "pending" as const),
      onBase: fc.constantFrom(true, false, null),
      endedMs: fc.integer({ min: 0, max: later })
    })
    fc.assert(
      fc.property(fc.uniqueArray(check, { selector: ({ key }) => key }), fc.boolean(), (found, rerunFirst) => {
        const checks = found.map((each) => red({ ...each, id: each.key, name: each.key }))
        const policy = { ...rules, rerun_first: rerunFirst }
        const step = decide(seen({ checks }), memory(), policy, later)
        const here = checks.filter(({ onBase, state }) => state === "failing" && onBase !== true).map(({ id }) => id)
        if (step.do === "turn" || step.do === "rerun") assert.sameMembers([...step.checks], here)
        if (here.length === 0) assert.strictEqual(step.do, "wait")
        // The others decide as if the broken ones were not there.
        const others = checks.filter(({ onBase, state }) => state !== "failing" || onBase !== true)
        assert.deepStrictEqual(step, decide(seen({ checks: others }), memory(), policy, later))
      }),
      { numRuns: 1_000 }
    )
  })

  it("gives no cause two turns, passes no cap and acts on the head alone, in any life with deaths before commits", () => {
    const happening = fc.oneof(
      fc.record({
        what: fc.constant("check" as const),
        name: fc.constantFrom("test", "lint"),
        isRed: fc.boolean(),
        onBase: fc.constantFrom(true, false, null)
      }),
      fc.record({
        what: fc.constant("base" as const),
        name: fc.constantFrom("test", "lint"),
        onBase: fc.constantFrom(true, false, null)
      }),
      fc.record({ what: fc.constant("comment" as const), mayWrite: fc.boolean(), isOurs: fc.boolean() }),
      fc.record({ what: fc.constant("push" as const) }),
      fc.record({ what: fc.constant("end" as const) }),
      fc.record({ what: fc.constant("look" as const), dies: fc.boolean(), times: fc.integer({ min: 1, max: 5 }) })
    )
    const life = fc.array(fc.tuple(happening, fc.integer({ min: 0, max: 200_000 })), { maxLength: 120 })
    fc.assert(
      fc.property(life, fc.boolean(), (events, rerunFirst) => {
        const policy = { ...rules, rerun_first: rerunFirst }
        const handled = new Set<string>()
        const reruns = new Set<string>()
        const failures: Array<string> = []
        let [turns, heads, nowMs, isBusy, isOver] = [0, 1, 0, false, false]
        let checks: ReadonlyArray<SeenRed> = []
        const comments: Array<SeenComment> = []
        const look = (dies: boolean) => {
          if (isOver) return
          const head = `h${heads}`
          const step = decide(
            seen({ head, checks, comments, isBusy }),
            { ...memory(), handled, reruns, failures, turns },
            policy,
            nowMs
          )
          if (dies) return
          if (step.do === "hand_over") isOver = true
          if (step.do === "rerun") {
            for (const key of step.keys) assert.isFalse(reruns.has(key))
            for (const key of step.keys) reruns.add(key)
          }
          if (step.do !== "turn") return
          for (const key of step.causes) {
            assert.isFalse(handled.has(key), key)
            handled.add(key)
            if (key.startsWith("checks:")) assert.isTrue(key.startsWith(`checks:${head}:`))
          }
          for (const id of step.checks)
            assert.isTrue(checks.some((each) => each.id === id && each.state === "failing" && each.onBase !== true))
          for (const id of step.comments)
            assert.isTrue(comments.some((each) => each.id === id && each.author.mayWrite && !each.isOurs))
          if (step.fingerprint !== null) failures.push(step.fingerprint)
          assert.isAtMost(++turns, policy.max_turns)
          isBusy = true
        }
        events.forEach(([event, passedMs], at) => {
          nowMs += passedMs
          if (event.what === "check") {
            const check = red({
              id: `chk_${at}`,
              key: event.name,
              name: event.name,
              state: event.isRed ? "failing" : "passing",
              onBase: event.isRed ? event.onBase : null,
              endedMs: nowMs
            })
            checks = [...checks.filter(({ key }) => key !== event.name), check]
          }
          if (event.what === "base")
            checks = checks.map((each) =>
              each.key === event.name && each.state === "failing" ? { ...each, onBase: event.onBase } : each
            )
          if (event.what === "comment") {
            const author = { mayWrite: event.mayWrite }
            comments.push(comment({ id: String(at), writtenMs: nowMs, isOurs: event.isOurs }, author))
          }
          if (event.what === "push" || (event.what === "end" && isBusy)) {
            heads += 1
            checks = []
            isBusy = false
          }
          if (event.what === "look") for (let n = 0; n < event.times; n++) look(event.dies)
        })
      }),
      { numRuns: 2_000 }
    )
  })
})
