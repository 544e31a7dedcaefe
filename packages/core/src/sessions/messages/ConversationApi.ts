import { HttpApiGroup } from "@effect/platform"
import { maxAttachments } from "@reins/base/base/CoreLimits"
import { extension, idPath, optional, patch, post, read, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { TurnId, UploadId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { BudgetInput } from "../../budgets/Budget.js"
import { OperationRef } from "../../jobs/Job.js"
import { MessageTools } from "../functions/FunctionTool.js"
import { Message, MessageInput, Routing } from "../rows/Message.js"
import { ActionableTurn, TurnState } from "../rows/Turn.js"
import { ResultSchema } from "../rows/TurnResult.js"

export const MessageSend = Schema.Struct({
  content: field(MessageInput, "What is said."),
  routing: field(optional(Routing), "Where the message goes; `queue` when absent."),
  attachments: field(
    optional(Schema.Array(UploadId).pipe(Schema.maxItems(maxAttachments))),
    "Files that were uploaded to the session, at most 20; each becomes a block after the content."
  ),
  budget: field(
    optional(BudgetInput),
    "What the model calls of the turn may spend. Only for a message that starts a turn. A retry of the turn has the same limits anew."
  ),
  result_schema: field(
    optional(ResultSchema),
    "The schema of the result that the turn has to give, at most 64 KiB. Only for a message that starts a turn, which fails without a result that satisfies it. A retry of the turn asks for the same."
  ),
  tools: field(
    optional(MessageTools),
    "The functions that the agent is offered in the turn. Only for a message that starts a turn. A retry of the turn has the same."
  )
}).annotations({ identifier: "MessageSend", description: "A message to the agent." })
export type MessageSend = typeof MessageSend.Type

export const SentMessage = Schema.Struct({
  message: field(Message, "The message as it was accepted."),
  turn_id: field(
    Schema.optionalWith(TurnId, { exact: true }),
    "The turn that works on it, or that it goes into. A `note` starts none."
  ),
  operation: field(
    Schema.optionalWith(OperationRef, { exact: true }),
    "The operation of that turn. Absent for a `note`, and for a message that goes into a turn that has begun."
  ),
  event_watermark: field(
    Schema.Int,
    "The `seq` of the newest event of the session; read on from it to follow the turn."
  )
}).annotations({ identifier: "SentMessage", description: "An accepted message." })
export type SentMessage = typeof SentMessage.Type

export const TurnPatch = Schema.Struct({
  budget: field(
    Schema.optionalWith(Schema.NullOr(BudgetInput), { exact: true }),
    "The limits of what the model calls of the turn may spend, in place of those that there are; null for none."
  )
}).annotations({ identifier: "TurnPatch", description: "What is to change. Absent fields stay as they are." })
export type TurnPatch = typeof TurnPatch.Type

const TurnListParams = Schema.Struct({
  ...pageFields,
  state: Schema.optionalWith(TurnState, { exact: true }),
  order: field(
    Schema.optionalWith(Schema.Literal("oldest", "newest"), { exact: true }),
    "`newest` lists the newest turn first; `oldest` when absent. A cursor is of one order."
  )
})

export class MessagesApi extends HttpApiGroup.make("messages")
  .add(
    read("list", "/api/sessions/:session_id/messages", "List the messages of a session")
      .setPath(idPath("session_id"))
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("MessageList", Message))
  )
  .add(
    post("send", "/api/sessions/:session_id/messages", "Send a message", "act")
      .setPath(idPath("session_id"))
      .setPayload(MessageSend)
      .addSuccess(withStatus(SentMessage, 202))
  )
  .annotateEndpointsContext(extension) {}

export class TurnsApi extends HttpApiGroup.make("turns")
  .add(
    read("list", "/api/sessions/:session_id/turns", "List the turns of a session")
      .setPath(idPath("session_id"))
      .setUrlParams(TurnListParams)
      .addSuccess(Page("TurnList", ActionableTurn))
  )
  .add(read("get", "/api/turns/:turn_id", "Read a turn").setPath(idPath("turn_id")).addSuccess(ActionableTurn))
  .add(
    patch("update", "/api/turns/:turn_id", "Change the budget of a turn that has not ended")
      .setPath(idPath("turn_id"))
      .setPayload(TurnPatch)
      .addSuccess(ActionableTurn)
  )
  .add(
    post("cancel", "/api/turns/:turn_id/cancellations", "Cancel a turn", "act")
      .setPath(idPath("turn_id"))
      .addSuccess(withStatus(ActionableTurn, 202))
  )
  .add(
    post("retry", "/api/turns/:turn_id/retries", "Send the message of an ended turn again")
      .setPath(idPath("turn_id"))
      .addSuccess(withStatus(ActionableTurn, 202))
  )
  .add(
    post("acknowledge", "/api/turns/:turn_id/acknowledgements", "Let the queue go on after an interrupted turn")
      .setPath(idPath("turn_id"))
      .addSuccess(withStatus(ActionableTurn, 202))
  )
  .annotateEndpointsContext(extension) {}
