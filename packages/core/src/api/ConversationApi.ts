import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { TurnId, UploadId } from "../domain/Ids.js"
import { OperationRef } from "../domain/Job.js"
import { Message, MessageInput, maxAttachments, Routing } from "../domain/Message.js"
import { Page } from "../domain/Page.js"
import { ActionableTurn, TurnState } from "../domain/Turn.js"
import { extension, idPath, optional, post, read, withStatus } from "./Endpoint.js"
import { pageFields } from "./Query.js"

export const MessageSend = Schema.Struct({
  content: MessageInput,
  routing: optional(Routing),
  /** Files that were uploaded to the session; each becomes a block after the content. */
  attachments: optional(Schema.Array(UploadId).pipe(Schema.maxItems(maxAttachments)))
}).annotations({ identifier: "MessageSend" })
export type MessageSend = typeof MessageSend.Type

/** An accepted message; a `note` starts no turn. */
export const SentMessage = Schema.Struct({
  message: Message,
  turn_id: Schema.optionalWith(TurnId, { exact: true }),
  operation: Schema.optionalWith(OperationRef, { exact: true }),
  event_watermark: Schema.Int
}).annotations({ identifier: "SentMessage" })
export type SentMessage = typeof SentMessage.Type

export class MessagesApi extends HttpApiGroup.make("messages")
  .add(
    read("list", "/api/sessions/:session_id/messages", "List the messages of a session")
      .setPath(idPath("session_id"))
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("MessageList", Message))
  )
  .add(
    post("send", "/api/sessions/:session_id/messages", "Send a message")
      .setPath(idPath("session_id"))
      .setPayload(MessageSend)
      .addSuccess(withStatus(SentMessage, 202))
  )
  .annotateEndpointsContext(extension) {}

export class TurnsApi extends HttpApiGroup.make("turns")
  .add(
    read("list", "/api/sessions/:session_id/turns", "List the turns of a session")
      .setPath(idPath("session_id"))
      .setUrlParams(Schema.Struct({ ...pageFields, state: Schema.optionalWith(TurnState, { exact: true }) }))
      .addSuccess(Page("TurnList", ActionableTurn))
  )
  .add(read("get", "/api/turns/:turn_id", "Read a turn").setPath(idPath("turn_id")).addSuccess(ActionableTurn))
  .add(
    post("cancel", "/api/turns/:turn_id/cancellations", "Cancel a turn")
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
