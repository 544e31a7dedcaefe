import { ApprovalSubject } from "@reins/base/domain/ApprovalSubject"
import { field } from "@reins/base/domain/Field"
import { FormContent, FormField, InteractionKind, InteractionOption } from "@reins/base/domain/Form"
import { ClaimId, InteractionId, SessionId, TurnId } from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { CallBlocks } from "./CallAnswer.js"

export const InteractionState = Schema.Literal("pending", "answered", "expired", "cancelled").annotations({
  description: "A `pending` interaction waits for people. It ends with an answer, by the time, or with its turn."
})
export type InteractionState = typeof InteractionState.Type

/** The moves of an interaction, which `InteractionStore` makes. */
export const interactionStates = /* @__PURE__ */ StateMachine.make<InteractionState>("interaction", {
  pending: ["answered", "expired", "cancelled"],
  answered: [],
  expired: [],
  cancelled: []
})

const CalledTool = Schema.Struct({
  name: field(Schema.String, "The name of the function."),
  input: field(Schema.Unknown, "Its input, which fits the `input_schema` of the function."),
  call_id: field(Schema.String, "The id of the call, as the agent gave it."),
  attempt: field(Schema.Int, "The number of holders that have claimed the call, 1 before the first.")
}).annotations({ identifier: "CalledTool", description: "The call of a function." })

export const CallClaim = Schema.Struct({
  claim_id: field(ClaimId, "The claim, which the answer names."),
  until: field(Timestamp, "The time until which nobody else answers. The same holder renews it."),
  attempt: field(Schema.Int, "The number of holders that have claimed the call so far, this one among them.")
}).annotations({ identifier: "CallClaim", description: "The right to answer a tool call." })
export type CallClaim = typeof CallClaim.Type

export const Interaction = Schema.Struct({
  id: field(InteractionId, "The id of the interaction."),
  session_id: field(SessionId, "The session whose agent asks."),
  turn_id: field(TurnId, "The turn whose agent asks."),
  kind: field(InteractionKind, "What is asked for."),
  title: field(Schema.String, "What is asked, in a line."),
  description: field(Schema.NullOr(Schema.String), "What is asked, in full; null when the title says it all."),
  subject: field(
    Schema.NullOr(ApprovalSubject),
    "What would happen if an `approval` were given. Null for other kinds, for approvals of earlier releases, and where an agent's driver does not tell it."
  ),
  tool_id: field(
    Schema.NullOr(Schema.String),
    "The id of the tool call that it is about, as in the events `tool.*`; null for none."
  ),
  budget_of: field(
    Schema.NullOr(Schema.String),
    "The id of the turn, session, API key or workspace whose budget is used up, for the kind `budget`; null for other kinds."
  ),
  options: field(Schema.Array(InteractionOption), "The possible answers."),
  form: field(
    Schema.NullOr(Schema.Array(FormField)),
    "The values that a `form` asks for: an answer with the option of the kind `accept` has them as its `content`. Null for other kinds."
  ),
  url: field(Schema.NullOr(Schema.String), "The page of a `link`; null for other kinds."),
  default: field(
    Schema.NullOr(Schema.String),
    "The option that is taken when nobody answers in time; it refuses. With null the agent is told that there is no answer."
  ),
  state: field(InteractionState, "Where the interaction stands."),
  answer: field(
    Schema.NullOr(Schema.String),
    "The option that was taken: the answer of a person, or the default after the time was over. Null until then."
  ),
  note: field(Schema.NullOr(Schema.String), "What the answer tells the agent beside it; null for nothing."),
  content: field(Schema.NullOr(FormContent), "The values that were given to a form; null for none."),
  tool: field(Schema.NullOr(CalledTool), "The call, for the kind `tool_call`; null for other kinds."),
  claim: field(
    Schema.NullOr(
      Schema.Struct({
        holder: field(Schema.String, "The name that the holder gave itself."),
        until: field(Timestamp, "The time until which it has the call.")
      })
    ),
    "The newest claim on a tool call, which may have run out; null for none."
  ),
  result: field(Schema.Unknown, "The answer to a tool call as JSON. Null until then, and for an answer of blocks."),
  blocks: field(Schema.NullOr(CallBlocks), "The answer to a tool call as blocks; null for none."),
  is_error: field(Schema.Boolean, "True when a tool call was answered with an error."),
  expires_at: field(Timestamp, "The time at which the default is taken."),
  created_at: field(Timestamp, "The time at which the agent asked."),
  resolved_at: field(Schema.NullOr(Timestamp), "The time at which it ended; null while it waits.")
}).annotations({ identifier: "Interaction", description: "A question of the agent of a running turn, and its answer." })
export type Interaction = typeof Interaction.Type
