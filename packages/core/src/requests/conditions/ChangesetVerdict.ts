import { optional } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { AccountId, ChangesetId, DelegationId, VerdictId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { VerdictSource } from "../../projects/MergeTerms.js"

const Judgement = Schema.Literal("approve", "reject").annotations({
  description: "A rejection keeps merge requests of the changeset from being merged by conditions."
})
const longestNote = 4000

export const VerdictInput = Schema.Struct({
  verdict: field(Judgement, "The judgement."),
  note: field(
    optional(Schema.String.pipe(Schema.maxLength(longestNote))),
    "The reason in words, at most 4,000 characters; none when absent."
  ),
  subject_digest: field(
    optional(Schema.String),
    "The `subject_digest` that was read. A changeset with another one is refused with `stale_subject`. Any is taken when absent."
  )
}).annotations({ identifier: "VerdictInput", description: "A judgement of a sealed changeset." })
export type VerdictInput = typeof VerdictInput.Type

export const ChangesetVerdict = Schema.Struct({
  id: field(VerdictId, "The id of the verdict."),
  changeset_id: field(ChangesetId, "The changeset that was judged."),
  subject_digest: field(Schema.String, "The digest of the change that was judged. It is about nothing else."),
  verdict: field(Judgement, "The judgement. The newest one of each member and delegation counts."),
  note: field(Schema.NullOr(Schema.String), "The reason in words; null for none."),
  from: field(VerdictSource, "Who has judged."),
  account_id: field(Schema.NullOr(AccountId), "The member who has judged; null for a delegation."),
  delegation_id: field(Schema.NullOr(DelegationId), "The delegation that has judged; null for a member."),
  created_at: field(Timestamp, "The time of the verdict.")
}).annotations({ identifier: "Verdict", description: "A judgement of a changeset, bound to its digest." })
export type ChangesetVerdict = typeof ChangesetVerdict.Type
