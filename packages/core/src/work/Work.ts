import { field } from "@reins/base/domain/Field"
import { InteractionKind } from "@reins/base/domain/Form"
import {
  ChangesetId,
  DeliveryId,
  InteractionId,
  MergeRequestId,
  ProjectId,
  SessionId,
  TurnId
} from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { Labels, SessionLifecycle } from "../sessions/rows/Session.js"
import { TurnState } from "../sessions/rows/Turn.js"

export const WorkState = Schema.Literal(
  "asks",
  "interrupted",
  "running",
  "queued",
  "blocked",
  "failed",
  "handed_over",
  "needs_changes",
  "in_review",
  "merged",
  "delivered",
  "review",
  "idle"
).annotations({
  description:
    "Where the work of a session stands: the first of these that holds. `asks`: its agent waits for an answer. `interrupted`: the end of a turn was not seen, and somebody has to acknowledge it. `running`: a turn runs, or a delivery is on its way. `queued`: a turn waits for its time. `blocked`: a delivery waits for somebody to mend its reason. `failed`: the last turn, the last delivery or the opening of the merge request failed. `handed_over`: the service has left the merge request to a person. `needs_changes`: the open merge request has what `waits_for` names. `in_review`: the merge request is open, and nothing waits for this workspace. `merged`: it is merged. `delivered`: the change is on its branch. `review`: nobody has delivered the change yet. `idle`: none of these."
})
export type WorkState = typeof WorkState.Type

export const WorkView = Schema.Literal("waiting", "working", "open", "archived").annotations({
  description:
    "The list that a session stands in. `waiting`: a person has to do something. `working`: the service does. `open`: neither. `archived`: the session is archived or closed."
})
export type WorkView = typeof WorkView.Type

export const RequestNeed = Schema.Literal(
  "conflicts",
  "checks_failing",
  "checks_unreadable",
  "changes_requested",
  "open_threads"
).annotations({ description: "What an open merge request needs of a person." })
export type RequestNeed = typeof RequestNeed.Type

const count = Schema.Int.pipe(Schema.nonNegative())

export const WorkQuestion = Schema.Struct({
  id: field(InteractionId, "The id of the interaction."),
  kind: field(InteractionKind, "What is asked for."),
  title: field(Schema.String, "What is asked, in a line of at most 200 characters."),
  complete: field(
    Schema.Boolean,
    "False for an approval whose subject cannot be shown whole, so that it takes one more look."
  ),
  expires_at: field(Timestamp, "The time at which its default is taken.")
}).annotations({
  identifier: "WorkQuestion",
  description: "A question of an agent in a list. The interaction has all of it."
})

export const WorkItem = Schema.Struct({
  session_id: field(SessionId, "The session that it is about."),
  short_id: field(Schema.String, "The last four characters of its id, for people."),
  title: field(Schema.NullOr(Schema.String), "Its title; null for none."),
  labels: field(Labels, "Names and values that clients gave it."),
  lifecycle: field(SessionLifecycle, "The state of the session."),
  project_id: field(Schema.NullOr(ProjectId), "The project that it was created from; null for none."),
  parent_session_id: field(Schema.NullOr(SessionId), "The session that it works for; null for none."),
  repository: field(Schema.NullOr(Schema.String), "The URL of its repository; null for an empty start."),
  provider_id: field(Schema.String, "The provider that runs it, as `GET /api/harnesses` lists it."),
  state: field(WorkState, "Where its work stands."),
  view: field(WorkView, "The list that it stands in."),
  since: field(Timestamp, "The time since which it stands there."),
  unread: field(
    Schema.Boolean,
    "True when something was said or has ended since the caller has seen the session: a question, the end of a turn, of a delivery or of a merge request, or a message of somebody else."
  ),
  event_watermark: field(Schema.Int, "The `seq` of the newest event of the session, which `PUT .../seen` takes."),
  turn: field(
    Schema.NullOr(
      Schema.Struct({
        id: field(TurnId, "The id of the turn."),
        state: field(TurnState, "Where the turn stands."),
        reason: field(Schema.NullOr(Schema.String), "The reason for the state; null when there is nothing to tell."),
        reason_message: field(Schema.NullOr(Schema.String), "A sentence for people. Null when there is no reason.")
      })
    ),
    "The turn that runs, else the newest one; null before the first."
  ),
  questions: field(Schema.Array(WorkQuestion), "The first 20 questions that wait for an answer, the oldest first."),
  changeset: field(
    Schema.NullOr(
      Schema.Struct({
        id: field(ChangesetId, "The id of the changeset."),
        origin: field(Schema.String, "The way in which it was captured."),
        files: field(count, "The number of files that differ."),
        additions: field(count, "The number of added lines."),
        deletions: field(count, "The number of deleted lines.")
      })
    ),
    "The newest changeset that is not empty; null for none."
  ),
  delivery: field(
    Schema.NullOr(
      Schema.Struct({
        id: field(DeliveryId, "The id of the delivery."),
        state: field(Schema.String, "Where it stands."),
        reason: field(Schema.NullOr(Schema.String), "Why it failed or is blocked; null otherwise."),
        reason_message: field(Schema.NullOr(Schema.String), "A sentence for people. Null when there is no reason."),
        branch: field(Schema.String, "The branch, without `refs/heads/`.")
      })
    ),
    "The newest delivery of that changeset; null for none."
  ),
  merge_request: field(
    Schema.NullOr(
      Schema.Struct({
        id: field(MergeRequestId, "The id of the merge request."),
        state: field(Schema.String, "Where it stands."),
        reason: field(Schema.NullOr(Schema.String), "Why the last command did not take effect; null otherwise."),
        reason_message: field(Schema.NullOr(Schema.String), "A sentence for people. Null when there is no reason."),
        number: field(Schema.NullOr(Schema.Int), "The number that the forge shows; null until it is open."),
        web_url: field(Schema.NullOr(Schema.String), "Its page on the forge; null until it is open."),
        base_branch: field(Schema.String, "The branch that it is to be merged into."),
        checks: field(
          Schema.NullOr(
            Schema.Struct({
              passing: field(count, "The number of checks that have passed."),
              failing: field(count, "The number of checks that have failed."),
              pending: field(count, "The number of checks that have not ended.")
            })
          ),
          "The checks of its head as numbers; null before the first look, and where the forge does not show them all."
        ),
        threads: field(Schema.NullOr(count), "The threads that are not resolved; null where nobody knows."),
        waits_for: field(Schema.Array(RequestNeed), "What it needs of a person; empty for nothing.")
      })
    ),
    "The merge request of that delivery; null for none."
  ),
  left: field(
    Schema.NullOr(Schema.Literal("care_handed_over", "care_proposed", "conditions_given_up")),
    "Why the service has left the merge request to a person; null where it has not."
  ),
  cost_usd: field(
    Schema.NullOr(Schema.Number),
    "What its turns have cost in US dollars so far; null without a price of the models."
  ),
  created_at: field(Timestamp, "The time at which the session was made.")
}).annotations({
  identifier: "WorkItem",
  description: "A session in a list of what waits, with what a person has to know."
})
export type WorkItem = typeof WorkItem.Type

export const WorkCounts = Schema.Struct({
  waiting: field(count, "The sessions in which a person has to do something."),
  working: field(count, "The sessions that the service works on."),
  unread: field(count, "The sessions among the newest 1,000 that are new to the caller, counted to 100.")
}).annotations({ identifier: "WorkCounts", description: "The numbers of sessions of a workspace." })

export const WorkList = Schema.Struct({
  items: field(Schema.Array(WorkItem), "The sessions, those first that have come there last."),
  counts: field(WorkCounts, "The numbers for the whole workspace."),
  watermark: field(
    Schema.Int,
    "The position of the workspace's events up to which the list is true. `after` of its stream takes it."
  ),
  next_cursor: field(Schema.NullOr(Schema.String), "The `cursor` of the next page; null on the last page.")
}).annotations({ identifier: "WorkList", description: "The sessions of a workspace by what they wait for." })
export type WorkList = typeof WorkList.Type

export const SessionSeen = Schema.Struct({
  session_id: field(SessionId, "The session that it is about."),
  seq: field(
    Schema.NullOr(count),
    "The `seq` up to which the caller has seen the events of the session; null where all of them are new."
  ),
  unread: field(Schema.Boolean, "True when there is something new behind it.")
}).annotations({ identifier: "SessionSeen", description: "How far an account has seen a session." })
export type SessionSeen = typeof SessionSeen.Type
