import type { ServerPoint } from "@reins/base/base/Failpoint"
import { occurrenceRunsOnce } from "./AutomationRows.js"
import { conflictHasOneTurn, everyTurnIsOneCommit, redCheckHasOneTurn } from "./CareRows.js"
import {
  branchIsPushedOnce,
  captureIsSealedOnce,
  changesetIsAppliedOnce,
  fileIsUploaded,
  followUpIsOneCommit,
  heldConditionsMergeOnce,
  mergeRequestIsMergedOnce,
  mergeRequestIsOpenedOnce
} from "./ChangeRows.js"
import { accountIsDeleted, projectIsDeletedOnce, sessionIsDeletedOnce, workspaceIsDeleted } from "./DeletionRows.js"
import {
  executorIsActivatedOnce,
  executorIsReleasedOnce,
  workspaceIsMadeByUpload,
  workspaceIsRemoved,
  workspaceIsSetUp
} from "./ExecutorRows.js"
import { lookIsWrittenOnce } from "./LookRows.js"
import { projectCallIsSentOnce, projectProgramEnds, refreshTokenIsUsedOnce } from "./ProjectServerRows.js"
import { draftIsSetOnce, replyIsWrittenOnce } from "./RequestActRows.js"
import { requestIsDoneOnce } from "./RequestRows.js"
import { again, once, type Row } from "./Row.js"
import {
  answeredFunctionIsKept,
  changesOfChildAreWhole,
  childIsMadeOnce,
  fileIsPublishedOnce,
  functionIsAnsweredOnce,
  functionIsClaimedOnce,
  questionIsAskedOnce,
  resultIsGivenOnce
} from "./ToolRows.js"
import {
  delegationRunsOnce,
  idleAgentIsEnded,
  keptAgentIsInterrupted,
  keptAgentIsReplaced,
  turnIsCancelled,
  turnIsInterrupted,
  turnRunsOnce
} from "./TurnRows.js"
import { mailArrives, sessionIsWokenOnce, waitIsKept } from "./WaitRows.js"
import { endpointIsDisabledOnce, eventsArrive } from "./WebhookRows.js"

/** Every point with what must hold after a kill there. A point without a row is a type error. */
export const matrix: Readonly<Record<ServerPoint, ReadonlyArray<Row>>> = {
  "request.begun": [...requestIsDoneOnce("commit"), functionIsClaimedOnce, mailArrives(1)],
  "request.committed": [
    ...requestIsDoneOnce("answer"),
    turnIsCancelled,
    idleAgentIsEnded,
    functionIsClaimedOnce,
    mailArrives(1)
  ],
  "job.claimed": [
    turnRunsOnce(again),
    executorIsActivatedOnce(again),
    executorIsReleasedOnce(again),
    captureIsSealedOnce(again),
    changesetIsAppliedOnce(again),
    branchIsPushedOnce(again),
    mergeRequestIsOpenedOnce(again),
    sessionIsWokenOnce,
    sessionIsDeletedOnce(again),
    mailArrives(1)
  ],
  "job.finished": [
    turnRunsOnce(once),
    delegationRunsOnce,
    executorIsActivatedOnce(once),
    executorIsReleasedOnce(once),
    captureIsSealedOnce(once),
    changesetIsAppliedOnce(once),
    branchIsPushedOnce(once),
    mergeRequestIsOpenedOnce(once),
    sessionIsWokenOnce,
    sessionIsDeletedOnce(once),
    mailArrives(1)
  ],
  "turn.begun": [turnRunsOnce(again)],
  "turn.prepared": [turnRunsOnce(again), keptAgentIsReplaced],
  "turn.running": [turnIsInterrupted(1, "an agent"), keptAgentIsInterrupted()],
  "turn.spawned": [turnRunsOnce(again, "an agent")],
  "turn.output_written": [turnIsInterrupted(3, "an agent"), keptAgentIsInterrupted(3)],
  "turn.agent_ended": [turnIsInterrupted(), keptAgentIsInterrupted()],
  "executor.allocated": [turnRunsOnce(again), executorIsActivatedOnce(again)],
  "setup.output_told": [workspaceIsSetUp],
  "setup.ran": [workspaceIsSetUp],
  "setup.copied": [workspaceIsSetUp],
  "workspace.cloned": [turnRunsOnce(again), executorIsActivatedOnce(again), workspaceIsMadeByUpload],
  "workspace.made": [turnRunsOnce(again), executorIsActivatedOnce(again), workspaceIsMadeByUpload],
  "workspace.removed": [workspaceIsRemoved],
  "upload.written": [fileIsUploaded],
  "deletion.files_removed": [sessionIsDeletedOnce(again)],
  "deletion.blobs_deleted": [sessionIsDeletedOnce(again)],
  "deletion.rows_deleted": [sessionIsDeletedOnce(again)],
  "deletion.overwritten": [sessionIsDeletedOnce(again), workspaceIsDeleted],
  "deletion.project_released": [projectIsDeletedOnce(again)],
  "deletion.project_rows_deleted": [projectIsDeletedOnce(again)],
  "deletion.workspace_sessions_gone": [workspaceIsDeleted],
  "deletion.workspace_rows_deleted": [workspaceIsDeleted],
  "deletion.account_rows_deleted": [accountIsDeleted],
  "release.quiesced": [executorIsReleasedOnce(again), workspaceIsRemoved],
  "release.reaped": [executorIsReleasedOnce(again)],
  "release.salvaged": [executorIsReleasedOnce(again), workspaceIsRemoved],
  "capture.tree_written": [turnIsInterrupted(), captureIsSealedOnce(again), executorIsReleasedOnce(again)],
  "capture.kept": [turnIsInterrupted(), captureIsSealedOnce(again), executorIsReleasedOnce(again)],
  "application.begun": [changesetIsAppliedOnce(again)],
  "application.file_written": [changesetIsAppliedOnce(again), changesOfChildAreWhole, conflictHasOneTurn],
  "application.written": [changesetIsAppliedOnce(again)],
  "delivery.begun": [branchIsPushedOnce(again), followUpIsOneCommit(again), redCheckHasOneTurn, everyTurnIsOneCommit],
  "delivery.materialized": [branchIsPushedOnce(again)],
  "delivery.head_seen": [branchIsPushedOnce(again)],
  "delivery.pushed": [
    branchIsPushedOnce(again),
    followUpIsOneCommit(again),
    redCheckHasOneTurn,
    conflictHasOneTurn,
    everyTurnIsOneCommit
  ],
  "delivery.push_recorded": [
    branchIsPushedOnce(again),
    followUpIsOneCommit(again),
    redCheckHasOneTurn,
    everyTurnIsOneCommit
  ],
  "merge_request.looked_up": [mergeRequestIsOpenedOnce(again)],
  "merge_request.created": [mergeRequestIsOpenedOnce(again)],
  "draft.set": [draftIsSetOnce],
  "request.replied": [replyIsWrittenOnce],
  "care.base_kept": [conflictHasOneTurn],
  "care.prepared": [redCheckHasOneTurn, conflictHasOneTurn],
  "care.begun": [redCheckHasOneTurn],
  "care.replied": [redCheckHasOneTurn],
  "care.follow_judged": [everyTurnIsOneCommit],
  "care.followed": [everyTurnIsOneCommit],
  "merge_request.merged": [mergeRequestIsMergedOnce, heldConditionsMergeOnce],
  "conditions.held": [heldConditionsMergeOnce],
  "look.read": [lookIsWrittenOnce, redCheckHasOneTurn],
  "look.committed": [lookIsWrittenOnce, redCheckHasOneTurn],
  "tool.called": [childIsMadeOnce("after the kill"), projectCallIsSentOnce("after the kill")],
  "tool.committed": [
    childIsMadeOnce("before the kill"),
    fileIsPublishedOnce,
    answeredFunctionIsKept,
    projectCallIsSentOnce("before the kill"),
    projectProgramEnds
  ],
  "tool.asked": [functionIsAnsweredOnce("after the kill"), questionIsAskedOnce("after the kill")],
  "tool.answered": [functionIsAnsweredOnce("before the kill"), questionIsAskedOnce("before the kill")],
  "grant.answered": [refreshTokenIsUsedOnce("never", "a call"), refreshTokenIsUsedOnce("never", "the look of a turn")],
  "grant.kept": [
    refreshTokenIsUsedOnce("before the kill", "a call"),
    refreshTokenIsUsedOnce("before the kill", "the look of a turn")
  ],
  "result.accepted": [resultIsGivenOnce],
  "wait.kept": [waitIsKept],
  "wait.delivered": [sessionIsWokenOnce],
  "mail.composed": [mailArrives(1)],
  "mail.sent": [mailArrives(2)],
  "follower.read": [eventsArrive(1)],
  "follower.took": [eventsArrive(1), endpointIsDisabledOnce],
  "webhook.sent": [eventsArrive(2), endpointIsDisabledOnce],
  "webhook.recorded": [eventsArrive(1), endpointIsDisabledOnce],
  "automation.claimed": [occurrenceRunsOnce],
  "automation.begun": [occurrenceRunsOnce]
}

const isPoint = (name: string): name is ServerPoint => name in matrix

export const points = Object.keys(matrix).filter(isPoint)

/** The rows that run on PostgreSQL too: a kill before the work of every kind of job, and one in the midst of each path. */
export const onPostgres: ReadonlyArray<ServerPoint> = [
  "job.claimed",
  "turn.output_written",
  "upload.written",
  "release.salvaged",
  "application.file_written",
  "delivery.begun",
  "delivery.pushed",
  "delivery.push_recorded",
  "merge_request.created",
  "care.begun",
  "conditions.held",
  "look.read",
  "wait.delivered",
  "tool.committed",
  "tool.answered",
  "grant.kept",
  "result.accepted",
  "mail.sent",
  "webhook.sent",
  "automation.begun"
]
