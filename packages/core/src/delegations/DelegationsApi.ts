import { HttpApiGroup } from "@effect/platform"
import { idPath, NotReplayed, optional, post, read } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { ChangesetId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { OperationRef } from "../jobs/Job.js"
import { HarnessSelection } from "../projects/Project.js"
import { MessageSend, SentMessage } from "../sessions/messages/ConversationApi.js"
import { ResultSchema } from "../sessions/rows/TurnResult.js"
import { Delegation, DelegationState, Result, ResultKind, Wait, Wake } from "./Delegation.js"

/** A name on one line, which becomes the title of the child session. */
export const DelegationRole = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(100),
  Schema.pattern(/^[^\p{Cc}]+$/u)
)

/** All that the child session is told first. */
export const Instructions = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100_000))

export const DelegationInput = Schema.Struct({
  role: field(DelegationRole, "A name on one line, which becomes the title of the child session."),
  instructions: field(Instructions, "The first message of the child session, word for word."),
  harness: field(
    optional(HarnessSelection),
    "The provider of the child. When absent, the harness of the delegating session."
  ),
  changeset_id: field(optional(ChangesetId), "The child starts with the files of this changeset, on its base."),
  result_schema: field(
    optional(ResultSchema),
    "The schema that the `value` of the result must satisfy; any value when absent."
  ),
  deadline_seconds: field(
    optional(Schema.Int.pipe(Schema.between(1, 604_800))),
    "The seconds after which the delegation fails when it has no result, up to seven days; the default of the installation when absent, a day unless it is set."
  )
}).annotations({ identifier: "DelegationInput", description: "The work to delegate." })
export type DelegationInput = typeof DelegationInput.Type

export const DelegationAnswer = Schema.Struct({
  operation: field(OperationRef, "The operation of the first turn of the child."),
  delegation: field(Delegation, "The delegation as it is now."),
  event_watermark: field(
    Schema.Int,
    "The `seq` of the newest event of the delegating session; read on from it to follow the delegation."
  )
}).annotations({ identifier: "DelegationAnswer", description: "The delegation, and the operation that works on it." })
export type DelegationAnswer = typeof DelegationAnswer.Type

export const ResultInput = Schema.Struct({
  kind: field(ResultKind, "What was done."),
  verdict: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100))),
    "The judgement, as in `approved`. Allowed for a `review`, a `test` or an `integration` only."
  ),
  summary: field(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100_000)), "What came out, in words."),
  value: field(
    Schema.optionalWith(Schema.Unknown, { exact: true }),
    "What came out, for programs. Must satisfy the `result_schema` of the delegation, when there is one."
  ),
  changeset_id: field(optional(ChangesetId), "The changes that belong to the result.")
}).annotations({ identifier: "ResultInput", description: "The result of a delegation." })
export type ResultInput = typeof ResultInput.Type

export const WaitInput = Schema.Struct({
  timeout_seconds: field(
    optional(Schema.Number.pipe(Schema.between(0, 60))),
    "The longest time that the answer is held back, in seconds; 30 when absent, 0 to answer at once."
  ),
  wake: field(optional(Wake), "Who is told of the end; `none` when absent.")
}).annotations({ identifier: "WaitInput", description: "How long to wait, and who is to be told." })
export type WaitInput = typeof WaitInput.Type

export const WaitAnswer = Schema.Struct({
  wait: field(Wait, "What came of the wait."),
  delegation: field(Delegation, "The delegation as it is now."),
  result: field(Schema.optionalWith(Result, { exact: true }), "The result. Present once the delegation has succeeded.")
}).annotations({ identifier: "WaitAnswer", description: "The wait and its delegation." })
export type WaitAnswer = typeof WaitAnswer.Type

const delegation = idPath("delegation_id")

export class DelegationsApi extends HttpApiGroup.make("delegations")
  .add(read("get", "/api/delegations/:delegation_id", "Read a delegation").setPath(delegation).addSuccess(Delegation))
  .add(
    post("cancel", "/api/delegations/:delegation_id/cancellations", "Cancel a delegation and close its child session")
      .setPath(delegation)
      .addSuccess(Delegation)
  )
  .add(
    post("sendMessage", "/api/delegations/:delegation_id/messages", "Send a message to the child session")
      .setPath(delegation)
      .setPayload(MessageSend)
      .addSuccess(SentMessage)
  )
  .add(
    read("getResult", "/api/delegations/:delegation_id/result", "Read the result")
      .setPath(delegation)
      .addSuccess(Result)
  )
  .add(
    post("submitResult", "/api/delegations/:delegation_id/result", "Submit the result, once")
      .setPath(delegation)
      .setPayload(ResultInput)
      .addSuccess(Result)
  )
  .add(
    post("wait", "/api/delegations/:delegation_id/waits", "Wait for the end of a delegation")
      .setPath(delegation)
      .setPayload(WaitInput)
      .addSuccess(WaitAnswer)
      .annotate(NotReplayed, true)
  ) {}

const session = idPath("session_id")

export class DelegateApi extends HttpApiGroup.make("sessions")
  .add(
    read("listDelegations", "/api/sessions/:session_id/delegations", "List the delegations of a session")
      .setPath(session)
      .setUrlParams(Schema.Struct({ ...pageFields, state: Schema.optionalWith(DelegationState, { exact: true }) }))
      .addSuccess(Page("DelegationList", Delegation))
  )
  .add(
    post("delegate", "/api/sessions/:session_id/delegations", "Delegate a part of the work to a child session")
      .setPath(session)
      .setPayload(DelegationInput)
      .addSuccess(DelegationAnswer)
  ) {}
