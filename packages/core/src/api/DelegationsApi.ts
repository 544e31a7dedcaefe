import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { Delegation, Result, ResultKind, ResultSchema, Wait, Wake } from "../domain/Delegation.js"
import { ChangesetId } from "../domain/Ids.js"
import { OperationRef } from "../domain/Job.js"
import { HarnessSelection } from "../domain/Project.js"
import { MessageSend, SentMessage } from "./ConversationApi.js"
import { idPath, NotReplayed, optional, post, read } from "./Endpoint.js"

/** A name on one line, which becomes the title of the child session. */
const Role = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100), Schema.pattern(/^[^\p{Cc}]+$/u))

export const DelegationInput = Schema.Struct({
  role: Role,
  /** The first message of the child session, word for word. */
  instructions: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100_000)),
  /** When absent, the harness of the delegating session. */
  harness: optional(HarnessSelection),
  /** The child starts with the files of this changeset, on its base. */
  changeset_id: optional(ChangesetId),
  result_schema: optional(ResultSchema),
  /** The time after which the delegation fails, up to seven days. */
  deadline_seconds: optional(Schema.Int.pipe(Schema.between(1, 604_800)))
}).annotations({ identifier: "DelegationInput" })
export type DelegationInput = typeof DelegationInput.Type

export const DelegationAnswer = Schema.Struct({
  /** The operation of the first turn of the child. */
  operation: OperationRef,
  delegation: Delegation,
  event_watermark: Schema.Int
}).annotations({ identifier: "DelegationAnswer" })
export type DelegationAnswer = typeof DelegationAnswer.Type

export const ResultInput = Schema.Struct({
  kind: ResultKind,
  /** Allowed for a `review`, a `test` or an `integration` only. */
  verdict: optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100))),
  summary: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100_000)),
  /** Must satisfy the `result_schema` of the delegation, when there is one. */
  value: Schema.optionalWith(Schema.Unknown, { exact: true }),
  changeset_id: optional(ChangesetId)
}).annotations({ identifier: "ResultInput" })
export type ResultInput = typeof ResultInput.Type

export const WaitInput = Schema.Struct({
  timeout_seconds: optional(Schema.Number.pipe(Schema.between(0, 60))),
  wake: optional(Wake)
}).annotations({ identifier: "WaitInput" })
export type WaitInput = typeof WaitInput.Type

/** The wait and its delegation. `result` is present once the delegation has succeeded. */
export const WaitAnswer = Schema.Struct({
  wait: Wait,
  delegation: Delegation,
  result: Schema.optionalWith(Result, { exact: true })
}).annotations({ identifier: "WaitAnswer" })
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
