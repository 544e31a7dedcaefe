import { fitsCheck } from "@reins/machine/forge/BranchRules"
import { counting } from "../looks/Objections.js"
import { objectionsTo, type Sighting } from "../looks/Summing.js"
import type { JudgedCheck } from "../rows/CheckLogs.js"
import { type MergeTerms, type UnmetCondition, unmet } from "../rows/MergeConditions.js"
import { type DemandFacts, unmetDemands } from "./ForgeDemands.js"

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
export interface ConditionFacts extends DemandFacts {
  readonly sighting: Sighting
  /** The names of the checks that the forge demands; empty where it names none, null where it does not show them. */
  readonly requiredChecks: ReadonlyArray<string> | null
  /** The `subject_digest` of the sealed changeset whose very files the head has; null where a delivery has not pushed it, or not with these files. */
  readonly deliveredDigest: string | null
  /** The verdicts on changesets of the session, the oldest first. */
  readonly verdicts: ReadonlyArray<SeenVerdict>
}

/** Everything that stands in the way of a merge under the terms and the rules of the forge; nothing when they all hold. */
export const unmetOf = (terms: MergeTerms, facts: ConditionFacts): ReadonlyArray<UnmetCondition> => {
  const found = [
    ...ofHead(terms, facts),
    ...ofChecks(terms, facts),
    ...ofReviews(terms, facts),
    ...ofThreads(terms, facts),
    ...ofVerdicts(terms, facts)
  ]
  return [...found, ...unmetDemands(terms, facts, found)]
}

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

const isFailing = ({ state }: JudgedCheck): boolean => state === "failing" || state === "cancelled"
const isPending = ({ state }: JudgedCheck): boolean => state === "pending" || state === "action_required"
/** A check that the forge demands, which its app has to report where one is named. */
interface DemandedCheck {
  readonly context: string
  readonly app: number | null
}

const demandedChecks = ({ demands, requiredChecks }: ConditionFacts): ReadonlyArray<DemandedCheck> => {
  const named = demands.flatMap((each) => (each.kind === "check" ? [each] : []))
  return named.length > 0 ? named : (requiredChecks ?? []).map((context) => ({ context, app: null }))
}

/** A name for people may differ from the name that the rules of a forge have. */
const fits = ({ app, context }: DemandedCheck, { identity }: JudgedCheck): boolean =>
  identity !== null && (app === null || identity.app === app) && fitsCheck(context, identity.context)
const namesOf = (checks: ReadonlyArray<JudgedCheck>): ReadonlyArray<string> => checks.map(({ name }) => name)

const ofChecks = (terms: MergeTerms, facts: ConditionFacts): ReadonlyArray<UnmetCondition> => {
  const { checks: seen, headSha, isLate, left, unread } = facts.sighting
  if (unread.checks !== undefined)
    return [unmet("checks_unreadable", `The checks cannot be read. ${unread.checks.message}`)]
  if (terms.checks === "none") return []
  if (left.checks !== undefined) return [unmet("checks_incomplete", left.checks)]
  const ofThisHead = seen.filter(({ head_sha }) => head_sha === headSha)
  const demanded = terms.checks === "required" ? demandedChecks(facts) : []
  const wanted =
    demanded.length === 0
      ? ofThisHead.filter(({ optional }) => !optional)
      : ofThisHead.filter((check) => demanded.some((each) => fits(each, check)))
  const missing = demanded.filter((each) => !ofThisHead.some((check) => fits(each, check)))
  const failing = wanted.filter(isFailing)
  const pending = wanted.filter(isPending)
  // A demanded check that was skipped has passed, as the forges count it.
  const isSilent = demanded.length === 0 && !wanted.some(({ state }) => state !== "skipped")
  return [
    ...(failing.length > 0 ? [unmet("checks_failing", "A check has failed.", namesOf(failing))] : []),
    ...(pending.length > 0 ? [unmet("checks_pending", "A check has not ended.", namesOf(pending))] : []),
    ...missing.map(({ app, context }) =>
      unmet(
        "check",
        `The forge demands the check ${JSON.stringify(context)}${
          app === null ? "" : ` by its app ${app}`
        }, which has not reported on this commit. A path filter may keep it from running.`,
        [context]
      )
    ),
    ...(isSilent && !isLate ? [unmet("checks_pending", "No check has reported on this commit yet.")] : []),
    ...(isLate && (isSilent || missing.length > 0) && ofThisHead.every(({ state }) => state === "skipped")
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

const ofReviews = (terms: MergeTerms, { sighting }: ConditionFacts): ReadonlyArray<UnmetCondition> => {
  const { headSha, left, reviews, rights, unread } = sighting
  if (unread.reviews !== undefined)
    return [unmet("reviews_unreadable", `The reviews cannot be read. ${unread.reviews.message}`)]
  if (left.reviews !== undefined) return [unmet("reviews_incomplete", left.reviews)]
  const last = counting(reviews)
  const approving = last.filter(
    ({ author, head_sha, state }) =>
      state === "approved" && head_sha === headSha && author.kind === "person" && rights.get(author.login) === true
  )
  const stale = last.filter(({ head_sha, state }) => state === "approved" && head_sha !== headSha)
  return [
    ...objectionsTo(sighting)
      .filter(({ kind }) => kind === "changes_requested")
      .map(({ kind, message }) => unmet(kind, message)),
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
  const { left, unread } = sighting
  if (unread.threads !== undefined)
    return [unmet("threads_unreadable", `The comments cannot be read. ${unread.threads.message}`)]
  if (left.threads !== undefined) return [unmet("threads_incomplete", left.threads)]
  if (!terms.threads_resolved) return []
  return objectionsTo(sighting)
    .filter(({ kind }) => kind === "open_threads")
    .map(({ kind, message }) => unmet(kind, message))
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
