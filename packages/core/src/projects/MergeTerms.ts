import { field } from "@reins/base/domain/Field"
import { MergeMethod } from "@reins/base/domain/MergeMethod"
import { Schema } from "effect"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true, nullable: true })

export const ChecksWanted = Schema.Literal("required", "all", "none").annotations({
  description:
    "`required`: those that the forge demands of the base branch. Where the forge names none, or does not show its rules, all that have reported. `none`: checks do not count."
})

export const HeadsWanted = Schema.Literal("own", "any").annotations({
  description: "`own`: the head is a commit that a delivery has pushed, with the very files of its changeset."
})

export const VerdictSource = Schema.Literal("member", "delegation").annotations({
  description: "Who has judged: a member of the workspace, or a delegation whose result is a review."
})
export type VerdictSource = typeof VerdictSource.Type

export const maxApprovals = 10

const shared = {
  checks: field(optional(ChecksWanted), "The checks that have to pass; `required` when absent."),
  approvals: field(
    optional(Schema.Int.pipe(Schema.between(0, maxApprovals))),
    "The number of people with write access whose newest review approves this very head; 0 when absent."
  ),
  threads_resolved: field(
    optional(Schema.Boolean),
    "True wants every thread about a line to be resolved; true when absent."
  ),
  heads: field(
    optional(HeadsWanted),
    "The commits that may be merged; `own` when absent. A condition on verdicts always wants `own`."
  ),
  method: field(
    optional(MergeMethod),
    "The way to merge. When absent it is `merge`, or else the first of `squash` and `rebase` that the rules of the forge take."
  ),
  delete_branch: field(
    optional(Schema.Boolean),
    "True removes the branch after the merge, if nobody has pushed to it since; false when absent."
  ),
  max_wait_seconds: field(
    optional(Schema.Int.pipe(Schema.between(60, 2_592_000))),
    "The seconds after which the conditions are given up, from a minute to 30 days; no limit when absent."
  )
}

const from = field(VerdictSource, "Who has to approve.")

/** The conditions of a merge, as a caller sets them. */
export const MergeConditionsInput = Schema.Struct({
  ...shared,
  verdict: field(
    optional(
      Schema.Struct({
        from,
        digest: field(
          optional(Schema.String.pipe(Schema.pattern(/^sha256:[0-9a-f]{64}$/))),
          "The `subject_digest` of the only changeset that may be merged; that of any delivered one when absent."
        )
      })
    ),
    "Wants an approving verdict on the changeset of the head; none is wanted when absent."
  )
}).annotations({
  identifier: "MergeConditionsInput",
  description:
    "The conditions under which a merge request is merged by itself. The rules of the forge come on top, also those that the token may pass by."
})
export type MergeConditionsInput = typeof MergeConditionsInput.Type

/** The conditions that a project gives its merge requests. */
export const ProjectMergeConditions = Schema.Struct({
  ...shared,
  verdict: field(
    optional(Schema.Struct({ from })),
    "Wants an approving verdict on the changeset of the head; none is wanted when absent."
  )
}).annotations({
  identifier: "ProjectMergeConditions",
  description: "The conditions that a new merge request takes over."
})
export type ProjectMergeConditions = typeof ProjectMergeConditions.Type
