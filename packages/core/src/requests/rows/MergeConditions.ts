import { field } from "@reins/base/domain/Field"
import { AccountId } from "@reins/base/domain/Ids"
import { MergeMethod } from "@reins/base/domain/MergeMethod"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { ChecksWanted, HeadsWanted, VerdictSource } from "../../projects/MergeTerms.js"

export const UnmetKind = Schema.Literal(
  "not_looked_at",
  "forge_unreadable",
  "draft",
  "conflicts",
  "conflicts_unknown",
  "foreign_head",
  "checks_unreadable",
  "checks_failing",
  "checks_pending",
  "checks_incomplete",
  "check",
  "no_check_reports",
  "reviews_unreadable",
  "reviews_incomplete",
  "changes_requested",
  "approvals",
  "threads_unreadable",
  "threads_incomplete",
  "open_threads",
  "verdict",
  "verdict_rejected",
  "forge",
  "forge_approvals",
  "forge_rule",
  "forge_demands_more",
  "merge_method",
  "merge_queue"
).annotations({
  identifier: "UnmetKind",
  description:
    "The kind of a condition that does not hold. `check`: a check that the forge demands has not reported. `forge_approvals`: the forge demands more approvals. `forge_rule`: nobody can tell if a rule of the forge is met, and the token may pass it by. `forge_demands_more`: the forge says that it would not merge. `merge_method`: its rules take another way to merge. `merge_queue`: it merges through its queue alone."
})
export type UnmetKind = typeof UnmetKind.Type

export const UnmetCondition = Schema.Struct({
  kind: field(UnmetKind, "What it is."),
  names: field(
    Schema.Array(Schema.String),
    "The names of the checks or rules that it is about, at most 20; else empty."
  ),
  message: field(Schema.String, "A sentence for people.")
}).annotations({ identifier: "UnmetCondition", description: "One thing that a merge by conditions waits for." })
export type UnmetCondition = typeof UnmetCondition.Type

export const unmet = (kind: UnmetKind, message: string, names: ReadonlyArray<string> = []): UnmetCondition => ({
  kind,
  names: names.slice(0, mostNames),
  message
})

const mostNames = 20

export const ConditionsState = Schema.Literal("waiting", "merging", "merged", "given_up").annotations({
  description:
    "`waiting`: they do not all hold. `merging`: they held, and the merge is on its way. `given_up`: nothing is merged by itself any more, and `reason` says why."
})
export type ConditionsState = typeof ConditionsState.Type

/** The moves of the conditions of a merge request. Conditions that are set anew begin again. */
export const conditionsStates = /* @__PURE__ */ StateMachine.make<ConditionsState>("merge condition", {
  waiting: ["merging", "merged", "given_up"],
  merging: ["waiting", "merged", "given_up"],
  given_up: ["merging", "merged"],
  merged: []
})

export const GivenUpReason = Schema.Literal(
  "forge_refused",
  "waited_too_long",
  "owner_lost_access",
  "base_changed",
  "checks_do_not_run",
  "auth_required",
  "branch_gone",
  "closed"
).annotations({
  description:
    "`forge_refused`: the forge has declined three merges of one head. `owner_lost_access`: who set the conditions may not merge any more. `base_changed`: somebody has chosen another base branch on the forge. `checks_do_not_run`: no check has ever reported, within ten minutes of the head, or a demanded one has not for half an hour in which none ran. `auth_required`: the forge has refused the credential for half an hour. `branch_gone`: it has not shown the merge request for so long. `closed`: the merge request was closed, or could not be opened."
})
export type GivenUpReason = typeof GivenUpReason.Type

/** The conditions with every choice made. */
export const mergeTerms = {
  checks: field(ChecksWanted, "The checks that have to pass."),
  approvals: field(
    Schema.Int,
    "The number of people with write access whose newest review has to approve this very head."
  ),
  threads_resolved: field(Schema.Boolean, "True wants every thread about a line to be resolved."),
  verdict: field(
    Schema.NullOr(
      Schema.Struct({
        from: field(VerdictSource, "Who has to approve."),
        digest: field(
          Schema.NullOr(Schema.String),
          "The only changeset that may be merged, by its `subject_digest`; null for any delivered one."
        )
      })
    ),
    "The wanted verdict on the changeset of the head; null for none."
  ),
  heads: field(HeadsWanted, "The commits that may be merged."),
  method: field(MergeMethod, "The way to merge."),
  delete_branch: field(Schema.Boolean, "True removes the branch after the merge."),
  max_wait_seconds: field(
    Schema.NullOr(Schema.Int),
    "The seconds after which the conditions are given up; null for no limit."
  )
}

const Terms = Schema.Struct(mergeTerms)
export type MergeTerms = typeof Terms.Type

export const MergeConditions = Schema.Struct({
  ...mergeTerms,
  state: field(ConditionsState, "Where they stand."),
  reason: field(Schema.NullOr(GivenUpReason), "Why they were given up; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  waiting_for: field(
    Schema.Array(UnmetCondition),
    "All that did not hold at the last look; empty once everything holds."
  ),
  head_sha: field(
    Schema.NullOr(Schema.String),
    "The commit that `waiting_for` is about, or that is being merged; null before the first look."
  ),
  refusals: field(Schema.Int, "How often the forge has declined to merge this head although the conditions held."),
  acts_for: field(AccountId, "The account that has set them. It has to be allowed to merge at the time of the merge."),
  set_at: field(Timestamp, "The time at which they were set."),
  give_up_at: field(Schema.NullOr(Timestamp), "The time at which they are given up; null for no limit.")
}).annotations({
  identifier: "MergeConditions",
  description: "The conditions under which a merge request is merged by itself, and where they stand."
})
export type MergeConditions = typeof MergeConditions.Type
