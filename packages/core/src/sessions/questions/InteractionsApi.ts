import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, optional, post, read, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { FormContent } from "@reins/base/domain/Form"
import { ClaimId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { CallBlocks } from "../rows/CallAnswer.js"
import { CallClaim, Interaction, InteractionState } from "../rows/Interaction.js"

export const InteractionAnswer = Schema.Struct({
  answer: field(optional(Schema.String), "The id of one of the options. Every kind but `tool_call` needs it."),
  seen: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100))),
    "The `digest` of the subject that was looked at. Another one than that of the interaction is `stale_subject`, because agents change a call while a person reads. Absent, the answer is about the call as it is by now."
  ),
  note: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(10_000))),
    "What the agent is to know beside the answer, at most 10,000 characters. It is said to the agent in the same turn."
  ),
  content: field(optional(FormContent), "The values of a form, with an option of the kind `accept`."),
  result: field(
    Schema.optionalWith(Schema.Unknown, { exact: true }),
    "The answer to a `tool_call` as JSON, which has at most 1,000,000 characters. A text reaches the model as it is."
  ),
  blocks: field(
    optional(CallBlocks),
    "The answer to a `tool_call` as text and images, in the place of `result`. It has at most 1,000,000 characters of JSON."
  ),
  is_error: field(
    optional(Schema.Boolean),
    "True when the answer to a `tool_call` says what went wrong; false when absent."
  ),
  claim_id: field(
    optional(ClaimId),
    "The claim on the `tool_call`. Without one it is answered only while nobody has claimed it."
  )
}).annotations({ identifier: "InteractionAnswer", description: "The answer to an agent." })
export type InteractionAnswer = typeof InteractionAnswer.Type

export const ClaimInput = Schema.Struct({
  holder: field(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200)),
    "A name that tells this process from others. The same holder renews its claim."
  ),
  seconds: field(Schema.Int.pipe(Schema.between(1, 300)), "The time until others may claim the call, in seconds.")
}).annotations({ identifier: "ClaimInput", description: "A claim on a tool call." })
export type ClaimInput = typeof ClaimInput.Type

export class InteractionsApi extends HttpApiGroup.make("interactions")
  .add(
    read("list", "/api/sessions/:session_id/interactions", "List what the agent of a session has asked")
      .setPath(idPath("session_id"))
      .setUrlParams(Schema.Struct({ ...pageFields, state: Schema.optionalWith(InteractionState, { exact: true }) }))
      .addSuccess(Page("InteractionList", Interaction))
  )
  .add(
    post("answer", "/api/interactions/:interaction_id/answers", "Answer what an agent asks")
      .setPath(idPath("interaction_id"))
      .setPayload(InteractionAnswer)
      .addSuccess(withStatus(Interaction, 202))
  )
  .add(
    post("claim", "/api/interactions/:interaction_id/claims", "Claim a tool call, so that nobody else answers it")
      .setPath(idPath("interaction_id"))
      .setPayload(ClaimInput)
      .addSuccess(withStatus(CallClaim, 201))
  )
  .annotateEndpointsContext(extension) {}
