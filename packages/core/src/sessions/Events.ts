import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { ChangesetId, MessageId, SessionId, TurnId } from "@reins/base/domain/Ids"
import { Schema } from "effect"
import { Interaction } from "./rows/Interaction.js"
import { Message, MessagePart } from "./rows/Message.js"
import { Labels, LinkKind, SessionLifecycle } from "./rows/Session.js"
import { Turn } from "./rows/Turn.js"

const SessionPayload = Schema.Struct({
  lifecycle: field(SessionLifecycle, "The state of the session."),
  title: field(Schema.NullOr(Schema.String), "Its title; null for none."),
  labels: field(Labels, "The names and values that clients gave it."),
  harness: field(
    Schema.Struct({
      provider_id: field(Schema.String, "The provider, as `GET /api/harnesses` lists it."),
      model: field(Schema.NullOr(Schema.String), "The model; null for the preference of the connection.")
    }),
    "The provider that runs it."
  ),
  version: field(Schema.Int, "The version of the session after the change.")
}).annotations({ identifier: "SessionPayload", description: "The session after what happened to it." })

const LinkPayload = Schema.Struct({
  from_session_id: field(SessionId, "The session that was left."),
  to_session_id: field(SessionId, "The session that goes on."),
  link_kind: field(LinkKind, "Why there is another session."),
  changeset_id: field(
    Schema.NullOr(ChangesetId),
    "The start of the workspace of the new session; null for its repository as it is."
  )
}).annotations({
  identifier: "LinkPayload",
  description: "A new session that goes on from another; both sessions hold the same event."
})

const DeletionPayload = Schema.Struct({
  deleted_with: field(
    Schema.NullOr(SessionId),
    "The session that it worked for, and that was deleted; null for a session whose own deletion was asked for."
  )
}).annotations({ identifier: "DeletionPayload", description: "A session that nobody can see any more." })

const MessagePayload = Schema.Struct({ message: field(Message, "All of the message, with its content.") }).annotations({
  identifier: "MessagePayload",
  description: "A message, whole."
})

const MessageRef = Schema.Struct({ message_id: field(MessageId, "The message that went its way.") }).annotations({
  identifier: "MessageRefPayload",
  description: "A message that went its way. The event `message.accepted` holds all of it."
})

const PartPayload = Schema.Struct({
  message_id: field(MessageId, "The message that the agent is writing. It is whole with `message.completed`."),
  part: field(MessagePart, "The piece, new or changed.")
}).annotations({ identifier: "PartPayload", description: "A piece of what the agent says." })

const ResultCheckedPayload = Schema.Struct({
  turn_id: field(TurnId, "The turn that the result belongs to."),
  ok: field(Schema.Boolean, "True when the result was accepted."),
  errors: field(Schema.Array(Schema.String), "Each place that the schema refuses, with what is wrong there.")
}).annotations({ identifier: "ResultCheckedPayload", description: "A result of a turn that was checked." })

const TurnPayload = Schema.Struct({ turn: field(Turn, "The whole turn.") }).annotations({
  identifier: "TurnPayload",
  description: "The turn after what happened to it."
})

const ActionPayload = Schema.Struct({
  turn: field(Turn, "The whole turn."),
  interaction: field(Interaction, "The question, and its answer once it is resolved.")
}).annotations({
  identifier: "ActionPayload",
  description:
    "A turn and what its agent asks. A turn can wait for several answers at once. It runs again when the last one is resolved."
})

/** The events of sessions, their messages and turns. */
export const sessionEvents = eventKinds({
  "session.created": { payload: SessionPayload, text: "The session was made. It is its first event." },
  "session.updated": {
    payload: SessionPayload,
    text: "Title, labels, model or the automatic capture of the session changed."
  },
  "session.archived": {
    payload: SessionPayload,
    text: "The session was archived: it takes no work until it is opened again."
  },
  "session.unarchived": { payload: SessionPayload, text: "An archived session was opened again." },
  "session.closed": { payload: SessionPayload, text: "The session was closed for good." },
  "session.deleted": {
    payload: DeletionPayload,
    text: "The session was deleted for good, and its other events with it. It is its last event."
  },
  "session.linked": {
    payload: LinkPayload,
    text: "A new session goes on from another with another provider. Both sessions hold this event."
  },
  "message.accepted": { payload: MessagePayload, text: "A message came in. It waits for its turn, or is a note." },
  "message.delivered": { payload: MessageRef, text: "The agent was given the message." },
  "message.discarded": { payload: MessageRef, text: "Reserved. No message is discarded today." },
  "message.part_added": { payload: PartPayload, text: "The agent began a part of its answer: words, or reasoning." },
  "message.part_updated": { payload: PartPayload, text: "A part grew, or was sealed and will not change again." },
  "message.completed": { payload: MessagePayload, text: "All that the agent said in a turn, as one message." },
  "turn.queued": {
    payload: TurnPayload,
    text: "A turn waits for its time, or waits again because its agent could not be started."
  },
  "turn.preparing": {
    payload: TurnPayload,
    text: "A worker has taken the turn and prepares executor, workspace and agent."
  },
  "turn.started": { payload: TurnPayload, text: "The agent was asked, and works." },
  "turn.action_required": {
    payload: ActionPayload,
    text: "The agent waits for an answer to an approval or a question, or until a budget that is used up is raised."
  },
  "turn.action_changed": {
    payload: ActionPayload,
    text: "The agent has changed what it asks leave for, while nobody has answered yet. `interaction.subject` is the new one."
  },
  "turn.action_resolved": {
    payload: ActionPayload,
    text: "An approval or a question was answered, has expired or was taken back, or the budget was raised."
  },
  "turn.cancel_requested": {
    payload: TurnPayload,
    text: "The turn was cancelled while it ran, and its agent is being stopped."
  },
  "turn.succeeded": { payload: TurnPayload, text: "The turn ended well." },
  "turn.failed": {
    payload: TurnPayload,
    text: "The turn ended with a failure. `turn.reason` names it, and `turn.reason_message` tells a person what to do."
  },
  "turn.cancelled": { payload: TurnPayload, text: "The turn was cancelled." },
  "turn.interrupted": {
    payload: TurnPayload,
    text: "The end of the turn was not seen, such as after a crash. The queue of the session waits for an acknowledgement."
  },
  "turn.acknowledged": {
    payload: TurnPayload,
    text: "Somebody has looked at an interrupted turn, and the queue goes on."
  },
  "turn.result_checked": {
    payload: ResultCheckedPayload,
    text: "The agent gave a result, which was accepted or refused."
  }
})

declare module "@reins/base/domain/Event" {
  interface EventPayloads extends PayloadsOf<typeof sessionEvents> {}
}
