import { Effect } from "effect"

/**
 * Marks a point at which the crash suite ends the process, to prove that the next start loses and doubles nothing. This function does
 * nothing. The build of that suite replaces this module with one that kills, so that no product contains a way to be killed.
 */
export const failpoint = (_name: FailpointName): Effect.Effect<void> => Effect.void

/** The points between two effects that last. A name holds the path, and the step that has just been done on it. */
export type FailpointName =
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
  | "wait.kept"
  | "wait.delivered"
  | "mail.composed"
  | "mail.sent"
