import { optional } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { ThreadId } from "@reins/base/domain/Ids"
import { MergeMethod } from "@reins/base/domain/MergeMethod"
import { Schema } from "effect"

export const MergeInput = Schema.Struct({
  when: field(
    optional(Schema.Literal("now", "conditions")),
    "`conditions` merges the head of the last look if the merge conditions hold there; `now` when absent."
  ),
  expected_head_sha: field(
    optional(Schema.String.pipe(Schema.pattern(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/))),
    "The full id of the commit that was reviewed. No other commit is merged. It is needed for `now`, and not taken for `conditions`."
  ),
  method: field(
    optional(MergeMethod),
    "How to merge. When absent it is `merge`, or else the first of `squash` and `rebase` that the rules of the forge take. It is not taken for `conditions`, which have a method of their own."
  )
}).annotations({ identifier: "MergeInput", description: "The commit to merge, or the word that conditions decide." })
export type MergeInput = typeof MergeInput.Type

export const ReadinessInput = Schema.Struct({
  draft: field(Schema.Boolean, "True makes it a draft, and false marks it as ready for review.")
}).annotations({ identifier: "ReadinessInput", description: "Whether the merge request is to be a draft." })
export type ReadinessInput = typeof ReadinessInput.Type

export const ReplyInput = Schema.Struct({
  thread_id: field(
    optional(ThreadId),
    "The thread to answer in. When absent, or where the forge has no thread for a comment, the words join the talk about the whole."
  ),
  text: field(
    Schema.String.pipe(
      Schema.minLength(1),
      Schema.maxLength(4_000),
      Schema.pattern(/^\s*[^\s\0][^\0]*$/, {
        message: () => "Input should have a character that is no space, and none that is NUL"
      })
    ),
    "The words as they are to stand there, in Markdown: at most 4,000 characters. Known secrets are struck out."
  )
}).annotations({ identifier: "ReplyInput", description: "A comment of a person on a merge request." })
export type ReplyInput = typeof ReplyInput.Type
