import type { Attention, Care, MergeRequest } from "./generated/Resources.js"
import { listed, phraseOf } from "./WaitingSentence.js"

type Reason = NonNullable<Care["reason"]>
type Conditions = NonNullable<MergeRequest["conditions"]>
type Unmet = Conditions["waiting_for"][number]

const goOn = "Start care again to go on."

/** Each reason of a care: what happened, and what a person does next. */
const careReasons: Readonly<Record<Reason, string>> = {
  turns_exhausted: `All of its turns are used up. ${goOn}`,
  budget_exhausted: "Its budget is used up. Start care again with a higher one to go on.",
  same_failure:
    "The same checks failed, or it conflicts again, after two turns. Look at them, and tell the agent what it does not know.",
  no_change: "The agent changed nothing. Read its answer, and decide whether this change causes the failure.",
  turn_failed: `The turn did not succeed. Look at it. ${goOn}`,
  protected_path: "The agent changed files that only a person delivers. Review its proposal, then deliver it.",
  head_keeps_moving: `Somebody pushed to the branch during each delivery. Wait until it is quiet. ${goOn}`,
  merge_conflict: `Commits of others change the same lines, and no turn has brought them together. Merge them by hand. ${goOn}`,
  undelivered_changes: `The session has changes that were not delivered. Deliver them, or take them back. ${goOn}`,
  checks_need_approval: `A check waits for an approval on the forge. Give it there. ${goOn}`,
  checks_do_not_run: `Checks were cancelled, or have not reported in time. Look at the CI. ${goOn}`,
  red_on_base: `The failed checks fail on the base branch too. Mend them there, and bring that into the branch. ${goOn}`,
  fork: "The branch is in another repository, and Reins does not push there. Go on by hand.",
  branch_gone: `The branch, its merge request or its repository is no longer where it was. Push the branch again, or correct the address. ${goOn}`,
  auth_required: `The forge refused the credential. Mend the connection. ${goOn}`,
  push_refused: `The repository refused the push. Look at the delivery, and mend its reason. ${goOn}`,
  owner_lost_access:
    "The account that started care may no longer change this session. Somebody who may has to start it again.",
  stopped_by_comment: `Somebody stopped it with a comment on the forge. ${goOn}`,
  merged: "The merge request is merged.",
  closed: "The merge request was closed without a merge.",
  removed: "Somebody stopped it."
}

/** Each reason for which conditions were given up: what happened, and what a person does next. */
const givenUpReasons: Readonly<Record<NonNullable<Conditions["reason"]>, string>> = {
  forge_refused:
    "The forge declined three merges of this commit. Look there for its rule, then set the conditions again.",
  waited_too_long: "The conditions did not hold in time. Set them again to go on.",
  owner_lost_access: "The account that set them may no longer merge. Somebody who may has to set them again.",
  base_changed:
    "Somebody changed the base branch on the forge. Look at what would be merged there, then set the conditions again.",
  checks_do_not_run:
    "No check has reported in time, or one that the forge demands has not. Look at the CI, or merge it yourself.",
  auth_required:
    "The forge refused the credential for half an hour. Mend the connection, then set the conditions again.",
  branch_gone:
    "The forge did not show the merge request for half an hour. Look whether it is still there, then set the conditions again.",
  closed: "The merge request was closed, or could not be opened."
}

// A newer server may know a reason that this client does not.
const reasonOf = <R extends string>(
  sentences: Readonly<Record<R, string>>,
  { reason, reason_message }: { readonly reason: R | null; readonly reason_message: string | null }
): string =>
  reason !== null && Object.hasOwn(sentences, reason) ? sentences[reason] : (reason_message ?? "No reason was given.")

const deeds = {
  checks: { off: undefined, propose: "proposes changes for failed checks", fix: "mends failed checks" },
  reviews: {
    off: undefined,
    propose: "proposes changes for comments of reviewers",
    fix: "does what reviewers ask for"
  },
  conflicts: { off: undefined, propose: "proposes merges of conflicts", fix: "merges conflicts with the base branch" },
  deliver: { own_turns: undefined, every_turn: "pushes the changes of every turn" }
} as const

/**
 * One sentence or two for people: what is done for a merge request without them, or why they have to go on. `attention` is the one that `attention_id`
 * names, and tells of the turn.
 */
export const careSentence = (
  care: Pick<Care, "checks" | "conflicts" | "max_turns" | "reason" | "reason_message" | "reviews" | "state" | "turns"> &
    Partial<Pick<Care, "deliver">>,
  attention?: Pick<Attention, "state">
): string => {
  const { max_turns, state, turns } = care
  const used = `${turns} of ${max_turns} turns used.`
  switch (state) {
    case "watching": {
      const { checks, conflicts, deliver = "own_turns", reviews } = care
      const deedsOf = [deeds.checks[checks], deeds.reviews[reviews], deeds.conflicts[conflicts], deeds.deliver[deliver]]
      const done = deedsOf.filter((deed) => deed !== undefined)
      return done.length === 0 ? "Care is on, but does nothing." : `The session ${listed(done)}. ${used}`
    }
    case "working":
      if (attention?.state === "proposed") return `A change is proposed. Review it, then deliver it. ${used}`
      if (attention?.state === "delivering") return `The change of a turn is being delivered. ${used}`
      return `A turn is at work on it. ${used}`
    case "handed_over":
      return `It is left to a person. ${reasonOf(careReasons, care)}`
    case "ended":
      return `Care has ended. ${reasonOf(careReasons, care)}`
  }
}

/** The facts that conditions know besides a look. */
const wanted: Readonly<Partial<Record<Unmet["kind"], (unmet: Unmet, conditions: Conditions) => string>>> = {
  not_looked_at: () => "the next look at the forge",
  foreign_head: () => "a newest commit that the session has delivered",
  checks_pending: (unmet) => (unmet.names.length === 0 ? "a check that passes" : phraseOf(null, unmet)),
  check: ({ names }) => `the required ${names.length === 1 ? "check" : "checks"} ${listed(names)}, not reported yet`,
  approvals: (_, { approvals }) =>
    approvals === 1 ? "an approval of this commit" : `${approvals} approvals of this commit`,
  verdict: (_, { verdict }) =>
    verdict?.from === "delegation" ? "an approving review by a delegation" : "the approval of a member in Reins",
  verdict_rejected: () => "another changeset, because this one was rejected",
  forge_approvals: () => "approvals that the forge demands",
  forge_rule: ({ names }) =>
    `${names.length === 1 ? "the rule" : "rules"} ${listed(names)} of the forge, which nobody can judge here`,
  forge_demands_more: ({ message }) => `the forge, which would not merge it: ${message.replace(/\.$/, "")}`,
  merge_method: () => "a way to merge that the forge takes",
  merge_queue: () => "somebody who adds it to the merge queue of the forge",
  forge: ({ message }) => `the forge, which declined the merge: ${message.replace(/\.$/, "")}`
}

/** Each thing that the conditions of a merge request wait for, as a phrase for people. Names of checks and words of a forge are those of others, so escape it. */
export const unmetPhrases = ({
  conditions,
  standing
}: Pick<MergeRequest, "conditions" | "standing">): ReadonlyArray<string> =>
  (conditions?.waiting_for ?? []).map((unmet) => {
    const phrase = Object.hasOwn(wanted, unmet.kind) ? wanted[unmet.kind] : undefined
    return phrase === undefined || conditions === null ? phraseOf(standing, unmet) : phrase(unmet, conditions)
  })

/**
 * One sentence or two for people: how a merge request comes to be merged by itself, or why it does not. Empty when it has no conditions. Names of checks
 * are the words of others, so escape the sentence where you show it.
 */
export const conditionsSentence = (request: Pick<MergeRequest, "conditions" | "standing">): string => {
  const { conditions } = request
  switch (conditions?.state) {
    case undefined:
      return ""
    case "waiting": {
      const phrases = unmetPhrases(request)
      return phrases.length === 0
        ? "Its conditions hold, and it is merged in a moment."
        : `It is merged by itself, and waits for ${listed(phrases)}.`
    }
    case "merging":
      return "Its conditions hold, and it is being merged."
    case "merged":
      return "It was merged once its conditions held."
    case "given_up":
      return `It is no longer merged by itself. ${reasonOf(givenUpReasons, conditions)}`
  }
}
