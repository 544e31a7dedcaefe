import { fitsCheck } from "../../forge/BranchRules.js"
import type { RequestCheck } from "../looks/RequestParts.js"
import { deciding, type Sighting } from "../looks/Summing.js"
import { type MergeTerms, type UnmetCondition, unmet } from "./MergeConditions.js"

/** A judgement of a changeset, as a decision reads it. */
export interface SeenVerdict {
  readonly verdict: "approve" | "reject"
  readonly from: "member" | "delegation"
  /** The account or delegation that has judged. */
  readonly by: string
  readonly subjectDigest: string
  /** False once a member may not change anything in the workspace any more. */
  readonly counts: boolean
}

/** All that a decision reads. It is what one look has seen of one head. */
export interface ConditionFacts {
  readonly sighting: Sighting
  /** The names of the checks that the forge demands; empty where it names none, null where it does not show them. */
  readonly requiredChecks: ReadonlyArray<string> | null
  /** The accounts of the forge that may write to the repository. */
  readonly writers: ReadonlySet<string>
  /** The `subject_digest` of the sealed changeset whose very files the head has; null where a delivery has not pushed it, or not with these files. */
  readonly deliveredDigest: string | null
  /** The verdicts on changesets of the session, the oldest first. */
  readonly verdicts: ReadonlyArray<SeenVerdict>
}

/** Everything that stands in the way of a merge under the terms; nothing when they all hold. */
export const unmetOf = (terms: MergeTerms, facts: ConditionFacts): ReadonlyArray<UnmetCondition> => [
  ...ofHead(terms, facts),
  ...ofChecks(terms, facts),
  ...ofReviews(terms, facts),
  ...ofThreads(terms, facts),
  ...ofVerdicts(terms, facts)
]

const ofHead = (terms: MergeTerms, { deliveredDigest, sighting }: ConditionFacts): ReadonlyArray<UnmetCondition> => [
  ...(sighting.isDraft ? [unmet("draft", "It is a draft. Mark it as ready.")] : []),
  ...(sighting.conflicts === "conflicts" ? [unmet("conflicts", "It conflicts with its base branch.")] : []),
  ...(sighting.conflicts === "unknown"
    ? [unmet("conflicts_unknown", "The forge has not said yet whether it merges with its base branch.")]
    : []),
  ...((terms.heads === "own" || terms.verdict !== null) && deliveredDigest === null
    ? [
        unmet(
          "foreign_head",
          'The head is no commit that holds exactly a delivered changeset. Deliver the next changeset with onto "head".'
        )
      ]
    : [])
]

const isFailing = ({ state }: RequestCheck): boolean => state === "failing" || state === "cancelled"
const isPending = ({ state }: RequestCheck): boolean => state === "pending" || state === "action_required"
const namesOf = (checks: ReadonlyArray<RequestCheck>): ReadonlyArray<string> => checks.map(({ name }) => name)

const ofChecks = (terms: MergeTerms, facts: ConditionFacts): ReadonlyArray<UnmetCondition> => {
  const { checks: seen, headSha, isComplete, isLate, unread } = facts.sighting
  if (unread.checks !== undefined)
    return [unmet("checks_unreadable", `The checks cannot be read. ${unread.checks.message}`)]
  if (terms.checks === "none") return []
  if (!isComplete) return [unmet("checks_incomplete", "The forge has more checks than are read, so not all are known.")]
  const ofThisHead = seen.filter(({ head_sha }) => head_sha === headSha)
  const demanded = terms.checks === "required" ? (facts.requiredChecks ?? []) : []
  const wanted =
    demanded.length === 0
      ? ofThisHead.filter(({ optional }) => !optional)
      : ofThisHead.filter(({ name }) => demanded.some((pattern) => fitsCheck(pattern, name)))
  const missing = demanded.filter((pattern) => !ofThisHead.some(({ name }) => fitsCheck(pattern, name)))
  const failing = wanted.filter(isFailing)
  const pending = wanted.filter(isPending)
  const isSilent = missing.length === 0 && !wanted.some(({ state }) => state !== "skipped")
  return [
    ...(failing.length > 0 ? [unmet("checks_failing", "A check has failed.", namesOf(failing))] : []),
    ...(pending.length > 0 ? [unmet("checks_pending", "A check has not ended.", namesOf(pending))] : []),
    ...missing.map((name) =>
      unmet(
        "check",
        `The forge demands the check ${JSON.stringify(name)}, which has not reported on this commit. A path filter may keep it from running.`,
        [name]
      )
    ),
    ...(isSilent && !isLate ? [unmet("checks_pending", "No check has reported on this commit yet.")] : []),
    ...(isLate && ofThisHead.every(({ state }) => state === "skipped")
      ? [
          unmet(
            "no_check_reports",
            "No check has reported on this commit. A push with the token of a CI job starts no CI on some forges, and a conflict stops it."
          )
        ]
      : isSilent && isLate
        ? [unmet("checks_pending", "No check that counts has passed on this commit.")]
        : [])
  ]
}

const ofReviews = (terms: MergeTerms, { sighting, writers }: ConditionFacts): ReadonlyArray<UnmetCondition> => {
  const { headSha, reviews, unread } = sighting
  if (unread.reviews !== undefined)
    return [unmet("reviews_unreadable", `The reviews cannot be read. ${unread.reviews.message}`)]
  const last = deciding(reviews)
  const approving = last.filter(
    ({ author, head_sha, state }) =>
      state === "approved" && head_sha === headSha && author.kind === "person" && writers.has(author.login)
  )
  const stale = last.filter(({ head_sha, state }) => state === "approved" && head_sha !== headSha)
  return [
    ...(last.some(({ state }) => state === "changes_requested")
      ? [unmet("changes_requested", "A reviewer asks for changes.")]
      : []),
    ...(approving.length < terms.approvals
      ? [
          unmet(
            "approvals",
            `It has ${approving.length} of ${terms.approvals} approvals of this commit by people with write access.${
              stale.length > 0 ? " An approval of another commit does not count." : ""
            }`
          )
        ]
      : [])
  ]
}

const ofThreads = (terms: MergeTerms, { sighting }: ConditionFacts): ReadonlyArray<UnmetCondition> => {
  const { threads, unread } = sighting
  if (unread.threads !== undefined)
    return [unmet("threads_unreadable", `The comments cannot be read. ${unread.threads.message}`)]
  const isOpen = threads.some(({ path, resolved }) => path !== null && resolved === false)
  return terms.threads_resolved && isOpen ? [unmet("open_threads", "A thread about a line is not resolved.")] : []
}

/** The newest verdict of each on a changeset. A verdict on another digest is about other files. */
const newestOn = (digest: string, verdicts: ReadonlyArray<SeenVerdict>): ReadonlyArray<SeenVerdict> => [
  ...new Map(
    verdicts.filter(({ subjectDigest }) => subjectDigest === digest).map((each) => [`${each.from}:${each.by}`, each])
  ).values()
]

const ofVerdicts = (
  { verdict: wanted }: MergeTerms,
  { deliveredDigest, verdicts }: ConditionFacts
): ReadonlyArray<UnmetCondition> => {
  const last = deliveredDigest === null ? [] : newestOn(deliveredDigest, verdicts)
  const rejected = last.some(({ verdict }) => verdict === "reject")
    ? [unmet("verdict_rejected", "The changeset of the head was rejected. Deliver a better one, or approve it.")]
    : []
  if (wanted === null || deliveredDigest === null) return rejected
  if (wanted.digest !== null && wanted.digest !== deliveredDigest)
    return [...rejected, unmet("verdict", "The head holds another changeset than the one that may be merged.")]
  const isApproved = last.some(({ counts, from, verdict }) => counts && verdict === "approve" && from === wanted.from)
  const who = wanted.from === "member" ? "No member has approved" : "No reviewing delegation has approved"
  return isApproved ? rejected : [...rejected, unmet("verdict", `${who} the changeset of the head.`)]
}
