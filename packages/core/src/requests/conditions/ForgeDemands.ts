import { type BranchDemand, methodFor, methodsIn } from "@reins/machine/forge/BranchDemands"
import { counting } from "../looks/Objections.js"
import type { Sighting } from "../looks/Summing.js"
import { type MergeTerms, type UnmetCondition, unmet } from "../rows/MergeConditions.js"
import type { WaitingFor } from "../rows/RequestStanding.js"

/** The facts that say if the demands of a forge are met. */
export interface DemandFacts {
  readonly sighting: Sighting
  /** Everything that the forge demands of a merge into the base branch. */
  readonly demands: ReadonlyArray<BranchDemand>
  /** The word of the forge against the merge; undefined for none. */
  readonly obstacle: WaitingFor | undefined
  /** True where nobody has named a way to merge. */
  readonly anyMethod: boolean
}

/**
 * The demands of the forge that are not met, or of which nobody can tell. A forge that says nothing against the merge has found those met that the token cannot
 * pass by. The others are held against what was read, because the forge would merge past them.
 */
export const unmetDemands = (
  terms: MergeTerms,
  facts: DemandFacts,
  others: ReadonlyArray<UnmetCondition>
): ReadonlyArray<UnmetCondition> => {
  const { anyMethod, demands, obstacle } = facts
  const judged = demands.filter(({ passable }) => passable || obstacle !== undefined)
  const found = [
    ...(demands.some(({ kind }) => kind === "queue") ? [queued] : []),
    ...(methodFor(demands, terms.method, anyMethod) === undefined ? [otherMethod(terms, demands)] : []),
    ...ofApprovals(judged, facts),
    ...ofLastPush(judged, facts),
    ...ofThreads(judged, terms, facts),
    ...rulesOf(judged.filter(({ passable }) => passable))
  ]
  if (obstacle === undefined) return found
  const isNamed = others.length > 0 || found.length > 0
  if (obstacle.names.includes(blocked) && isNamed) return found
  return [...found, unmet("forge_demands_more", obstacle.message), ...(isNamed ? [] : rulesOf(judged))]
}

/** GitHub's word for a rule that is not met. It does not say which one. */
const blocked = "blocked"

const queued = unmet(
  "merge_queue",
  "The forge merges into the base branch through its merge queue alone. Add the request to the queue on its page."
)

const otherMethod = ({ method }: MergeTerms, demands: ReadonlyArray<BranchDemand>): UnmetCondition => {
  const taken = methodsIn(demands) ?? []
  const next =
    taken.length === 0
      ? "Its rules take no method. Mend them."
      : `Set the conditions with the method ${taken.map((each) => JSON.stringify(each)).join(" or ")}.`
  return unmet("merge_method", `The forge does not take the method ${JSON.stringify(method)} here. ${next}`)
}

/** The logins of people who may write and whose newest review approves, this very head where that is wanted. */
const approving = ({ sighting: { headSha, reviews, rights } }: DemandFacts, ofHead: boolean): ReadonlyArray<string> =>
  counting(reviews).flatMap(({ author, head_sha, state }) =>
    state === "approved" &&
    author.kind === "person" &&
    rights.get(author.login) === true &&
    (!ofHead || head_sha === headSha)
      ? [author.login]
      : []
  )

const ofApprovals = (judged: ReadonlyArray<BranchDemand>, facts: DemandFacts): ReadonlyArray<UnmetCondition> => {
  const wanted = judged.flatMap((each) => (each.kind === "approvals" ? [each] : []))
  const lacking = wanted.filter(({ count, ofHead }) => approving(facts, ofHead).length < count)
  if (lacking.length === 0) return []
  const count = Math.max(...lacking.map((each) => each.count))
  const ofHead = lacking.some((each) => each.ofHead)
  const has = approving(facts, ofHead).length
  const what = ofHead ? "approvals of this commit" : "approvals"
  return [
    unmet("forge_approvals", `The forge demands ${count} ${what} by people with write access, and it has ${has}.`)
  ]
}

/** A commit of ours was pushed by the token. Of any other the forge does not tell who has pushed, so one of two has not. */
const ofLastPush = (judged: ReadonlyArray<BranchDemand>, facts: DemandFacts): ReadonlyArray<UnmetCondition> =>
  judged.some(({ kind }) => kind === "last_push") && approving(facts, true).length < (facts.sighting.isOurs ? 1 : 2)
    ? [
        unmet(
          "forge_approvals",
          facts.sighting.isOurs
            ? "The forge demands that somebody else than the last one who has pushed approves this commit."
            : "The forge demands that somebody else than the last one who has pushed approves this commit. It does not tell who that is, so two people have to."
        )
      ]
    : []

const ofThreads = (
  judged: ReadonlyArray<BranchDemand>,
  terms: MergeTerms,
  { sighting: { threads } }: DemandFacts
): ReadonlyArray<UnmetCondition> =>
  !terms.threads_resolved &&
  judged.some(({ kind }) => kind === "threads") &&
  threads.some(({ path, resolved }) => path !== null && resolved === false)
    ? [unmet("open_threads", "The forge demands that every thread about a line is resolved.")]
    : []

const rulesOf = (judged: ReadonlyArray<BranchDemand>): ReadonlyArray<UnmetCondition> =>
  judged.flatMap((each) =>
    each.kind === "rule"
      ? [unmet("forge_rule", `${each.say} ${each.passable ? notTold : ""}`.trimEnd(), [each.rule])]
      : []
  )

const notTold =
  "Nobody can tell here if that is so, and the token may pass the rule by. Merge it yourself, or use a token that has to keep the rule."
