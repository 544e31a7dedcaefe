import { Effect } from "effect"

/**
 * Marks a point at which the suites of faults end the process or hold it, to prove that whoever goes on loses and doubles nothing. This function
 * does nothing. The build of those suites replaces this module with one that kills and holds, so that no product contains a way to be killed.
 */
export const failpoint = (_name: FailpointName): Effect.Effect<void> => Effect.void

/** The points between two effects that last. A name holds the path, and the step that has just been done on it. */
export type FailpointName = ServerPoint | NodePoint

/** The points that only one of several machines passes, or one that keeps snapshots. */
export type NodePoint = "snapshot.stored" | "restore.files_made" | "handover.sealed" | "handover.left"

/** The points that every server passes. */
export type ServerPoint =
  | "request.begun"
  | "request.committed"
  | "job.claimed"
  | "job.finished"
  | "turn.begun"
  | "turn.prepared"
  | "turn.running"
  | "turn.spawned"
  | "turn.output_written"
  | "turn.agent_ended"
  | "executor.allocated"
  | "setup.output_told"
  | "setup.ran"
  | "setup.copied"
  | "workspace.cloned"
  | "workspace.made"
  | "workspace.removed"
  | "upload.written"
  | "deletion.files_removed"
  | "deletion.blobs_deleted"
  | "deletion.rows_deleted"
  | "deletion.overwritten"
  | "deletion.project_released"
  | "deletion.project_rows_deleted"
  | "deletion.workspace_sessions_gone"
  | "deletion.workspace_rows_deleted"
  | "deletion.account_rows_deleted"
  | "release.quiesced"
  | "release.reaped"
  | "release.salvaged"
  | "capture.tree_written"
  | "capture.kept"
  | "application.begun"
  | "application.file_written"
  | "application.written"
  | "delivery.begun"
  | "delivery.materialized"
  | "delivery.head_seen"
  | "delivery.pushed"
  | "delivery.push_recorded"
  | "merge_request.looked_up"
  | "merge_request.created"
  | "merge_request.merged"
  | "tool.called"
  | "tool.committed"
  | "tool.asked"
  | "tool.answered"
  | "result.accepted"
  | "wait.kept"
  | "wait.delivered"
  | "mail.composed"
  | "mail.sent"
  | "follower.read"
  | "follower.took"
  | "webhook.sent"
  | "webhook.recorded"
  | "automation.claimed"
  | "automation.begun"
