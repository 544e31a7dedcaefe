import { CheckId, MergeRequestId, ReviewId, ThreadId } from "@reins/base/domain/Ids"
import { type ConditionFacts, unmetOf } from "@reins/core/requests/conditions/ConditionDecision"
import type { LeftParts } from "@reins/core/requests/looks/LeftOut"
import type { Rights } from "@reins/core/requests/looks/Objections"
import type { JudgedCheck } from "@reins/core/requests/rows/CheckLogs"
import type { MergeTerms } from "@reins/core/requests/rows/MergeConditions"
import type {
  ForgeAuthor,
  JudgedReview,
  RequestCheck,
  RequestReview,
  RequestThread
} from "@reins/core/requests/rows/RequestParts"
import { fitsCheck } from "@reins/machine/forge/BranchRules"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"

const head = "a".repeat(40)
const other = "b".repeat(40)
const unvalidated = { disableValidation: true } as const
const merge_request_id = MergeRequestId.make("mr_1", unvalidated)
const digests = ["sha256:1", "sha256:2"] as const

const terms: fc.Arbitrary<MergeTerms> = fc.record({
  checks: fc.constantFrom("required", "all", "none"),
  approvals: fc.integer({ min: 0, max: 2 }),
  threads_resolved: fc.boolean(),
  verdict: fc.option(
    fc.record({
      from: fc.constantFrom("member" as const, "delegation" as const),
      digest: fc.option(fc.constantFrom(...digests))
    })
  ),
  heads: fc.constantFrom("own", "any"),
  method: fc.constant("merge"),
  delete_branch: fc.boolean(),
  max_wait_seconds: fc.constant(null)
})

/** Mostly the first value, so that many cases hold. */
const mostly = <A>(usual: A, ...others: ReadonlyArray<A>): fc.Arbitrary<A> =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(usual, ...others) })

const shaOf = mostly(head, other)

const check: fc.Arbitrary<JudgedCheck> = fc
  .record({
    id: fc.constant(CheckId.make("chk_1", unvalidated)),
    merge_request_id: fc.constant(merge_request_id),
    head_sha: shaOf,
    name: fc.constantFrom("build", "test", "lint"),
    state: mostly<RequestCheck["state"]>("passing", "pending", "failing", "cancelled", "skipped", "action_required"),
    optional: mostly(false, true),
    on_base: fc.constantFrom(true, false, null),
    url: fc.constant(null),
    started_at: fc.constant(null),
    ended_at: fc.constant(null)
  })
  .map((seen) => ({ ...seen, identity: { context: seen.name, app: null, source: seen.name, trigger: null } }))

const review: fc.Arbitrary<JudgedReview> = fc.record({
  official: mostly<boolean | null>(null, true, false),
  id: fc.constant(ReviewId.make("rvw_1", unvalidated)),
  merge_request_id: fc.constant(merge_request_id),
  author: fc.record({
    login: fc.constantFrom("ann", "bob", "eve"),
    kind: mostly<RequestReview["author"]["kind"]>("person", "bot", "self")
  }),
  state: mostly<RequestReview["state"]>("approved", "commented", "changes_requested", "dismissed"),
  head_sha: fc.oneof({ weight: 10, arbitrary: shaOf }, { weight: 1, arbitrary: fc.constant(null) }),
  body: fc.constant(""),
  url: fc.constant(null),
  submitted_at: fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z")
})

const thread: fc.Arbitrary<RequestThread> = fc.record({
  id: fc.constant(ThreadId.make("thr_1", unvalidated)),
  merge_request_id: fc.constant(merge_request_id),
  path: mostly<string | null>("a.txt", null),
  line: fc.constant(1),
  side: fc.constant("new" as const),
  outdated: fc.constant(false),
  resolved: mostly<boolean | null>(true, false, null),
  comments: fc.array(
    fc
      .record({
        login: fc.constantFrom("ann", "bob", "eve"),
        kind: mostly<ForgeAuthor["kind"]>("person", "bot", "self")
      })
      .map((author) => ({ forge_id: "1", author, body: "", url: null, written_at: null })),
    { minLength: 1, maxLength: 2 }
  )
})

const unread = { kind: "forbidden" as const, message: "No." }
const seldom = mostly(false, true)

const facts: fc.Arbitrary<ConditionFacts> = fc.record({
  sighting: fc
    .record({
      headSha: fc.constant(head),
      isDraft: seldom,
      isOurs: fc.constant(true),
      conflicts: mostly<"none" | "conflicts" | "unknown">("none", "conflicts", "unknown"),
      checks: fc.uniqueArray(check, { maxLength: 3, selector: ({ head_sha, name }) => `${head_sha} ${name}` }),
      reviews: fc.array(review, { maxLength: 3 }),
      threads: fc.array(thread, { maxLength: 2 }),
      left: mostly<LeftParts>({}, { checks: "No." }, { reviews: "No." }, { threads: "No." }),
      rights: mostly<Rights>(
        new Map([
          ["ann", true],
          ["bob", true],
          ["eve", false]
        ]),
        new Map(),
        new Map([["eve", null]])
      ),
      isLate: fc.boolean()
    })
    .chain((sighting) =>
      fc.record({ checks: seldom, reviews: seldom, threads: seldom }).map((parts) => ({
        ...sighting,
        unread: {
          ...(parts.checks && { checks: unread }),
          ...(parts.reviews && { reviews: unread }),
          ...(parts.threads && { threads: unread })
        }
      }))
    ),
  requiredChecks: mostly<ReadonlyArray<string> | null>([], null, ["build"], ["build", "deploy"], ["*"]),
  demands: fc.constant([]),
  obstacle: fc.constant(undefined),
  anyMethod: fc.constant(false),
  deliveredDigest: mostly<string | null>(digests[0], null),
  verdicts: fc.array(
    fc.record({
      verdict: mostly<"approve" | "reject">("approve", "reject"),
      from: fc.constantFrom("member" as const, "delegation" as const),
      by: fc.constantFrom("one", "two"),
      subjectDigest: mostly<string>(...digests),
      counts: mostly(true, false)
    }),
    { maxLength: 3 }
  )
})

/** The last review of each that is more than a comment. */
const lastReviews = ({ sighting }: ConditionFacts): ReadonlyArray<JudgedReview> => {
  const inOrder = [...sighting.reviews].sort((one, two) =>
    (one.submitted_at ?? "").localeCompare(two.submitted_at ?? "")
  )
  const logins = [...new Set(inOrder.map(({ author }) => author.login))]
  return logins.flatMap((login) =>
    inOrder
      .filter(({ author, official, state }) => author.login === login && state !== "commented" && official !== false)
      .slice(-1)
  )
}

/** Each thing that must be so when a merge begins, said apart from the decision. */
const musts: Readonly<Record<string, (terms: MergeTerms, facts: ConditionFacts) => boolean>> = {
  "no part is unread": (_, { sighting }) => Object.keys(sighting.unread).length === 0,
  "it is no draft": (_, { sighting }) => !sighting.isDraft,
  "it has no conflict, and that is known": (_, { sighting }) => sighting.conflicts === "none",
  "its own head, as delivered": ({ heads, verdict }, { deliveredDigest }) =>
    (heads === "any" && verdict === null) || deliveredDigest !== null,
  "every check is known": ({ checks }, { sighting }) => checks === "none" || sighting.left.checks === undefined,
  "every review and comment is known": (_, { sighting: { left } }) =>
    left.reviews === undefined && left.threads === undefined,
  "no check that counts is red or runs, and one of this head has passed if the forge demands none": (
    { checks },
    facts
  ) => {
    if (checks === "none") return true
    const demanded = checks === "required" ? (facts.requiredChecks ?? []) : []
    const counting = facts.sighting.checks.filter(
      ({ head_sha, name, optional }) =>
        head_sha === head && (demanded.length === 0 ? !optional : demanded.some((each) => fitsCheck(each, name)))
    )
    return (
      (demanded.length > 0 || counting.some(({ state }) => state === "passing")) &&
      counting.every(({ state }) => state === "passing" || state === "skipped") &&
      demanded.every((each) => counting.some(({ name }) => fitsCheck(each, name)))
    )
  },
  "nobody who may write asks for changes, nor anybody of whom that is not known": (_, facts) =>
    lastReviews(facts).every(
      ({ author: { kind, login }, state }) =>
        state !== "changes_requested" || (kind === "person" && facts.sighting.rights.get(login) === false)
    ),
  "the approvals are of this head, by people who may write": ({ approvals }, facts) =>
    lastReviews(facts).filter(
      ({ author, head_sha, state }) =>
        state === "approved" &&
        head_sha === head &&
        author.kind === "person" &&
        facts.sighting.rights.get(author.login) === true
    ).length >= approvals,
  "threads are resolved": ({ threads_resolved }, { sighting }) =>
    !threads_resolved ||
    sighting.threads.every(
      ({ comments, path, resolved }) =>
        path === null ||
        resolved !== false ||
        comments.every(({ author: { kind, login } }, at) =>
          kind === "person" ? sighting.rights.get(login) === false : at > 0
        )
    ),
  "the verdict is on the digest of this head, and nobody has rejected it": ({ verdict }, facts) => {
    const { deliveredDigest: digest, verdicts } = facts
    const on = verdicts.filter(({ subjectDigest }) => subjectDigest === digest)
    const last = on.filter((each, index) => !on.slice(index + 1).some((l) => l.from === each.from && l.by === each.by))
    if (digest !== null && last.some((each) => each.verdict === "reject")) return false
    if (verdict === null) return true
    if (verdict.digest !== null && verdict.digest !== digest) return false
    return last.some((each) => each.verdict === "approve" && each.from === verdict.from && each.counts)
  }
}

describe("the decision on a merge by conditions", () => {
  it("merges when and only when everything that must be so is so", () => {
    let held = 0
    fc.assert(
      fc.property(terms, facts, (terms, facts) => {
        const waits = unmetOf(terms, facts)
        const broken = Object.entries(musts).flatMap(([name, holds]) => (holds(terms, facts) ? [] : [name]))
        if (waits.length === 0) held += 1
        assert.strictEqual(waits.length === 0, broken.length === 0, JSON.stringify({ waits, broken }))
      }),
      { numRuns: 20_000 }
    )
    assert.isAbove(held, 200, "so many cases in which it merges")
  })

  it("is loosened by nothing that is red on the base too", () => {
    fc.assert(
      fc.property(terms, facts, fc.constantFrom(true, false, null), (wanted, given, on_base) => {
        const checks = given.sighting.checks.map((each) => ({ ...each, on_base }))
        const other = { ...given, sighting: { ...given.sighting, checks } }
        assert.deepStrictEqual(unmetOf(wanted, other), unmetOf(wanted, given))
      })
    )
  })

  describe("asks for a check that the forge demands", () => {
    const sighting: ConditionFacts["sighting"] = {
      headSha: head,
      isDraft: false,
      isOurs: true,
      conflicts: "none",
      checks: [],
      reviews: [],
      threads: [],
      left: {},
      unread: {},
      rights: new Map(),
      isLate: true
    }
    const required: MergeTerms = {
      checks: "required",
      approvals: 0,
      threads_resolved: false,
      verdict: null,
      heads: "any",
      method: "merge",
      delete_branch: false,
      max_wait_seconds: null
    }
    type Seen = readonly [app: number | null, state: RequestCheck["state"]]
    const rows: ReadonlyArray<readonly [name: string, app: number | null, seen: ReadonlyArray<Seen>, unmet: string]> = [
      ["by its app, which has passed it", 1, [[1, "passing"]], ""],
      ["by its app, and not by another one", 1, [[2, "passing"]], "check"],
      ["by its app, and not by one that is not known", 1, [[null, "passing"]], "check"],
      ["by any app", null, [[2, "passing"]], ""],
      ["by any app, also one that is not known", null, [[null, "passing"]], ""],
      [
        "by its app, whose red one is not hidden by a green one of another",
        1,
        [
          [1, "failing"],
          [2, "passing"]
        ],
        "checks_failing"
      ],
      [
        "by its app, whose green one is not hidden by a red one of another",
        1,
        [
          [1, "passing"],
          [2, "failing"]
        ],
        ""
      ],
      [
        "by any app, of which one is red",
        null,
        [
          [1, "failing"],
          [2, "passing"]
        ],
        "checks_failing"
      ],
      ["by its app, which has skipped it", 1, [[1, "skipped"]], ""],
      ["by its app, which has not ended", 1, [[1, "pending"]], "checks_pending"]
    ]
    it.each(rows)("%s", (_, app, seen, expected) => {
      const checks = seen.map(
        ([by, state]): JudgedCheck => ({
          id: CheckId.make("chk_1", unvalidated),
          merge_request_id,
          head_sha: head,
          name: "build",
          state,
          optional: false,
          on_base: null,
          url: null,
          started_at: null,
          ended_at: null,
          identity: { context: "build", app: by, source: `app ${by}`, trigger: null }
        })
      )
      const waits = unmetOf(required, {
        sighting: { ...sighting, checks },
        requiredChecks: null,
        demands: [{ kind: "check", context: "build", app, passable: false }],
        obstacle: undefined,
        anyMethod: false,
        deliveredDigest: digests[0],
        verdicts: []
      })
      assert.deepStrictEqual(waits.map(({ kind }) => kind).join(), expected)
    })
  })

  it("names the check that has not reported, and says when none has", () => {
    const [silent] = fc.sample(
      facts.map(({ sighting, ...rest }) => ({
        ...rest,
        requiredChecks: ["docs"],
        sighting: { ...sighting, checks: [], unread: {}, left: {}, isLate: true }
      })),
      1
    )
    const [wanted] = fc.sample(
      terms.map((each) => ({ ...each, checks: "required" as const })),
      1
    )
    if (silent === undefined || wanted === undefined) return assert.fail("no sample")
    const waits = unmetOf(wanted, silent)
    assert.deepInclude(
      waits.map(({ kind, names }) => ({ kind, names })),
      { kind: "check", names: ["docs"] }
    )
    assert.include(
      waits.map(({ kind }) => kind),
      "no_check_reports"
    )
  })
})
