import { Effect } from "effect"
import { JobStore } from "../../jobs/JobStore.js"
import { releaseJobKind } from "../../sessions/creation/SessionLifecycles.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"

/** Enqueues the job that ends the lease of a session; the workspace stays. */
export const releases = Effect.map(
  JobStore,
  (jobs) => (row: SessionRow, reason: "requested" | "idle") =>
    jobs.enqueue({
      kind: releaseJobKind,
      subject: { type: "session", id: row.id },
      workspaceId: row.workspace_id,
      payload: { lease_id: row.executor.lease?.id ?? null, reason },
      filesOf: row.id,
      maxAttempts: 20
    })
)
