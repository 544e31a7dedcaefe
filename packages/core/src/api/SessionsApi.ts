import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { ChangedFile, Changeset, ChangesetOrigin } from "../domain/Changeset.js"
import { Delegation } from "../domain/Delegation.js"
import { Event } from "../domain/Event.js"
import { ChangesetId, ConnectionId, ProjectId, ProjectVersionId, TurnId } from "../domain/Ids.js"
import { OperationRef } from "../domain/Job.js"
import { MessageInput } from "../domain/Message.js"
import { Page } from "../domain/Page.js"
import { ExecutorSelection, HarnessSelection, Repository } from "../domain/Project.js"
import { Labels, LeaseState, Session, SessionActivity, SessionLifecycle, WorkspaceState } from "../domain/Session.js"
import { Timestamp } from "../domain/Timestamp.js"
import { FileContent, FileList, UploadedFile } from "../domain/WorkspaceFile.js"
import { DelegationAnswer, DelegationInput } from "./DelegationsApi.js"
import { extension, idPath, optional, patch, post, read, TakesFile, withStatus } from "./Endpoint.js"
import { boolean, integer, number, pageFields } from "./Query.js"

const Title = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(500))

export const SessionInput = Schema.Struct({
  project_id: optional(ProjectId),
  project_version_id: optional(ProjectVersionId),
  repository: optional(Repository),
  harness: optional(HarnessSelection),
  executor: optional(ExecutorSelection),
  connection_id: optional(ConnectionId),
  title: optional(Title),
  labels: optional(Labels),
  auto_capture: optional(Schema.Boolean),
  message: optional(MessageInput)
}).annotations({ identifier: "SessionInput" })
export type SessionInput = typeof SessionInput.Type

export const SessionPatch = Schema.Struct({
  title: Schema.optionalWith(Schema.NullOr(Title), { exact: true }),
  labels: optional(Labels),
  model: optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255))),
  provider_id: optional(Schema.String),
  auto_capture: optional(Schema.Boolean),
  expected_version: optional(Schema.Int)
}).annotations({ identifier: "SessionPatch" })
export type SessionPatch = typeof SessionPatch.Type

/** A new session. It has `turn_id` and `operation` when it was created with a message. */
export const CreatedSession = Schema.Struct({
  ...Session.fields,
  turn_id: Schema.optionalWith(TurnId, { exact: true }),
  operation: Schema.optionalWith(OperationRef, { exact: true })
}).annotations({ identifier: "CreatedSession" })
export type CreatedSession = typeof CreatedSession.Type

export const EventPage = Schema.Struct({
  items: Schema.Array(Event),
  /** Pass it as `after` to read on. */
  next_after: Schema.Int,
  has_more: Schema.Boolean,
  event_watermark: Schema.Int
}).annotations({ identifier: "EventPage" })
export type EventPage = typeof EventPage.Type

export const EventQuery = Schema.Struct({
  after: Schema.optionalWith(integer(), { exact: true }),
  limit: Schema.optionalWith(integer({ min: 1, max: 1000 }), { default: () => 500 }),
  types: Schema.optionalWith(Schema.String, { exact: true }),
  turn_id: Schema.optionalWith(Schema.String, { exact: true }),
  max_seconds: Schema.optionalWith(number(), { default: () => 600 }),
  deltas: Schema.optionalWith(boolean, { default: () => false })
})

export const LiveChanges = Schema.Struct({
  live: Schema.Boolean,
  base_commit: Schema.NullOr(Schema.String),
  observed_at: Timestamp,
  files: Schema.Array(ChangedFile)
}).annotations({ identifier: "LiveChanges" })
export type LiveChanges = typeof LiveChanges.Type

export const ChangesetInput = Schema.Struct({
  label: optional(Schema.String.pipe(Schema.maxLength(200))),
  origin: optional(ChangesetOrigin.pipe(Schema.pickLiteral("explicit", "salvage"))),
  source_turn_id: optional(TurnId)
}).annotations({ identifier: "ChangesetInput" })
export type ChangesetInput = typeof ChangesetInput.Type

export const CaptureAnswer = Schema.Struct({
  operation: OperationRef,
  changeset: Changeset,
  event_watermark: Schema.Int
}).annotations({ identifier: "CaptureAnswer" })
export type CaptureAnswer = typeof CaptureAnswer.Type

export const SessionExecutor = Schema.Struct({
  backend: Schema.String,
  lease: Schema.Struct({
    id: Schema.NullOr(Schema.String),
    state: LeaseState,
    created_at: Schema.NullOr(Timestamp),
    last_used_at: Schema.NullOr(Timestamp)
  }),
  workspace: Schema.Struct({ state: WorkspaceState, base_commit: Schema.NullOr(Schema.String) })
}).annotations({ identifier: "SessionExecutor" })
export type SessionExecutor = typeof SessionExecutor.Type

export const ActivationInput = Schema.Struct({ backend: optional(ExecutorSelection.fields.backend) }).annotations({
  identifier: "ActivationInput"
})
export type ActivationInput = typeof ActivationInput.Type

export const ReleaseInput = Schema.Struct({ force: optional(Schema.Boolean) }).annotations({
  identifier: "ReleaseInput"
})
export type ReleaseInput = typeof ReleaseInput.Type

export const ExecutorAnswer = Schema.Struct({
  operation: OperationRef,
  executor: SessionExecutor,
  event_watermark: Schema.Int
}).annotations({ identifier: "ExecutorAnswer" })
export type ExecutorAnswer = typeof ExecutorAnswer.Type

/** A file that is put into the workspace of a session, whole. */
export const FileUpload = Schema.Struct({
  path: Schema.String,
  content: Schema.String,
  encoding: optional(Schema.Literal("utf-8", "base64")),
  /** Permission bits in octal, as in `0644`. Those of the file that is replaced, else `0644`. */
  mode: optional(Schema.String.pipe(Schema.pattern(/^0?[0-7]{3}$/))),
  /** Lets the file be written only over the file with this digest, or with `absent` only where there is none. */
  expected_digest: optional(Schema.String.pipe(Schema.pattern(/^(absent|sha256:[0-9a-f]{64})$/)))
}).annotations({ identifier: "FileUpload" })
export type FileUpload = typeof FileUpload.Type

export const HarnessSwitchInput = Schema.Struct({
  harness: HarnessSelection,
  connection_id: optional(ConnectionId),
  /** Tells the next agent of the work so far. It is the first message of the new session. */
  summary: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100_000)),
  /** A changeset of this session that the workspace of the new one starts with. */
  changeset_id: optional(ChangesetId)
}).annotations({ identifier: "HarnessSwitchInput" })
export type HarnessSwitchInput = typeof HarnessSwitchInput.Type

/** The agent's own record of a conversation, as an archive. */
export const NativeState = Schema.Struct({
  format: Schema.Literal("tar+gzip"),
  encoding: Schema.Literal("base64"),
  content: Schema.String,
  /** The digest of the archive. */
  digest: Schema.String,
  /** The digest of the state itself, which is equal for equal files whenever they are archived. */
  state_digest: Schema.String,
  files: Schema.Array(Schema.Struct({ path: Schema.String, size: Schema.Int }))
}).annotations({ identifier: "NativeState" })
export type NativeState = typeof NativeState.Type

const session = idPath("session_id")

export class SessionsApi extends HttpApiGroup.make("sessions")
  .add(
    read("list", "/api/workspaces/:workspace_id/sessions", "List the sessions of a workspace")
      .setPath(idPath("workspace_id"))
      .setUrlParams(
        Schema.Struct({
          ...pageFields,
          lifecycle: Schema.optionalWith(SessionLifecycle, { exact: true }),
          activity: Schema.optionalWith(SessionActivity, { exact: true }),
          project_id: Schema.optionalWith(Schema.String, { exact: true }),
          parent_session_id: Schema.optionalWith(Schema.String, { exact: true })
        })
      )
      .addSuccess(Page("SessionList", Session))
      .annotateContext(extension)
  )
  .add(
    post("create", "/api/workspaces/:workspace_id/sessions", "Create a session, with a first message if one is given")
      .setPath(idPath("workspace_id"))
      .setPayload(SessionInput)
      .addSuccess(withStatus(CreatedSession, 201))
      .annotateContext(extension)
  )
  .add(read("get", "/api/sessions/:session_id", "Read a session").setPath(session).addSuccess(Session))
  .add(
    patch("update", "/api/sessions/:session_id", "Change a session")
      .setPath(session)
      .setPayload(SessionPatch)
      .addSuccess(Session)
  )
  .add(post("archive", "/api/sessions/:session_id/archives", "Archive a session").setPath(session).addSuccess(Session))
  .add(
    post("unarchive", "/api/sessions/:session_id/unarchives", "Open an archived session again")
      .setPath(session)
      .addSuccess(withStatus(Session, 202))
      .annotateContext(extension)
  )
  .add(
    post("close", "/api/sessions/:session_id/closures", "Close a session for good").setPath(session).addSuccess(Session)
  )
  .add(
    read("getChanges", "/api/sessions/:session_id/changes", "What differs from the base now")
      .setPath(session)
      .addSuccess(LiveChanges)
  )
  .add(
    read("listChangesets", "/api/sessions/:session_id/changesets", "List the changesets of a session")
      .setPath(session)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("ChangesetList", Changeset))
  )
  .add(
    post("capture", "/api/sessions/:session_id/changesets", "Capture a changeset")
      .setPath(session)
      .setPayload(ChangesetInput)
      .addSuccess(CaptureAnswer)
  )
  .add(
    read("listDelegations", "/api/sessions/:session_id/delegations", "List the delegations of a session")
      .setPath(session)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("DelegationList", Delegation))
  )
  .add(
    post("delegate", "/api/sessions/:session_id/delegations", "Delegate a part of the work to a child session")
      .setPath(session)
      .setPayload(DelegationInput)
      .addSuccess(DelegationAnswer)
  )
  .add(
    read("listEvents", "/api/sessions/:session_id/events", "Read or stream the events of a session")
      .setPath(session)
      .setUrlParams(EventQuery)
      .addSuccess(EventPage)
  )
  .add(
    read("getExecutor", "/api/sessions/:session_id/executor", "The executor of a session")
      .setPath(session)
      .addSuccess(SessionExecutor)
  )
  .add(
    post(
      "activateExecutor",
      "/api/sessions/:session_id/executor/activations",
      "Make the executor and the workspace ready"
    )
      .setPath(session)
      .setPayload(ActivationInput)
      .addSuccess(ExecutorAnswer)
  )
  .add(
    post("releaseExecutor", "/api/sessions/:session_id/executor/releases", "Release the executor; the workspace stays")
      .setPath(session)
      .setPayload(ReleaseInput)
      .addSuccess(ExecutorAnswer)
  )
  .add(
    post("uploadFile", "/api/sessions/:session_id/file-uploads", "Put a file into the workspace")
      .setPath(session)
      .setPayload(FileUpload)
      .addSuccess(UploadedFile)
      .annotate(TakesFile, true)
  )
  .add(
    read("listFiles", "/api/sessions/:session_id/files", "List a directory of the workspace")
      .setPath(session)
      .setUrlParams(Schema.Struct({ path: Schema.optionalWith(Schema.String, { default: () => "" }) }))
      .addSuccess(FileList)
  )
  .add(
    read("getFile", "/api/sessions/:session_id/files/content", "Read a file of the workspace")
      .setPath(session)
      .setUrlParams(Schema.Struct({ path: Schema.String }))
      .addSuccess(FileContent)
  )
  .add(
    post("switchHarness", "/api/sessions/:session_id/harness-switches", "Go on in a new session with another provider")
      .setPath(session)
      .setPayload(HarnessSwitchInput)
      .addSuccess(withStatus(Session, 201))
      .annotateContext(extension)
  )
  .add(
    read("getNativeState", "/api/sessions/:session_id/native-state", "The agent's own record of the conversation")
      .setPath(session)
      .addSuccess(NativeState)
      .annotateContext(extension)
  ) {}
