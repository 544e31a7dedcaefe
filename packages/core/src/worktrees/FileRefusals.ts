import { ReinsError } from "@reins/base/domain/ReinsError"
import type { SnapshotError } from "@reins/machine/bench/snapshots/TreeSnapshots"
import type { GitError } from "@reins/machine/repository/run/GitError"
import { Effect } from "effect"
import { notOpen } from "../sessions/rows/Refusals.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"

/** Fails for a session that was closed, and whose files go with it. */
export const requireNotClosed = (row: SessionRow) =>
  row.lifecycle === "closed" ? Effect.fail(notOpen(row)) : Effect.void

/** The setup of the project would take longer than a request waits. */
export const notSetUp = (session: SessionRow): ReinsError<"executor_unavailable"> =>
  new ReinsError({
    code: "executor_unavailable",
    message:
      `The setup of the project has not ended in this session. POST /api/sessions/${session.id}/executor/activations runs it; wait for the ` +
      "event workspace.restored, then upload.",
    details: { workspace: session.tree.state }
  })

/** The bytes of an upload could not be stored apart. */
export const notKept = ({ message }: SnapshotError): ReinsError<"executor_unavailable"> =>
  new ReinsError({
    code: "executor_unavailable",
    message: `The file could not be kept safe, so it was not written. ${message}`,
    details: { reason: "snapshot_failed" }
  })

/** The working tree could not be made. */
export const notMade = (error: GitError): ReinsError<"executor_unavailable"> =>
  new ReinsError({
    code: "executor_unavailable",
    message: `The workspace could not be made. ${error.message}`,
    details: { reason: error.kind }
  })
