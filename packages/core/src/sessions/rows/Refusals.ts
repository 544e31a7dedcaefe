import { ReinsError } from "@reins/base/domain/ReinsError"
import type { SessionRow } from "./SessionRow.js"

/** The refusal of a command that needs a session in another lifecycle. */
export const notOpen = (session: SessionRow): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message:
      session.lifecycle === "archived"
        ? "The session is archived. Unarchive it before sending it work."
        : "The session is closed for good: it can be read, and nothing of it changes any more. Create a new one.",
    details: { resource: "session", from: session.lifecycle }
  })

/** The refusal of a command that needs a session whose turns have all ended. */
export const turnActive = (row: SessionRow): ReinsError<"turn_active"> =>
  new ReinsError({
    code: "turn_active",
    message: "A turn waits or runs in this session. Wait until it has ended, or cancel it.",
    details: { turn_id: row.turns.active?.id ?? null, queued_turns: row.turns.queued }
  })

/** The refusal of a request for the files of a session that has none. A workspace that was removed never comes back, so no retry helps. */
export const noWorkspace = (session: SessionRow): ReinsError<"executor_unavailable" | "invalid_transition"> =>
  session.tree.state === "removed"
    ? new ReinsError({
        code: "invalid_transition",
        message: "The session is closed and its workspace removed for good. Its changesets can still be read.",
        details: { resource: "workspace", from: "removed" }
      })
    : new ReinsError({
        code: "executor_unavailable",
        message:
          session.tree.state === "preparing"
            ? "The workspace of the session is still being made. Wait for the event workspace.restored, then try again."
            : `The session has no workspace yet. POST /api/sessions/${session.id}/executor/activations makes it, ` +
              "and so do an upload and the first message. Then try again.",
        details: { workspace: session.tree.state }
      })

/** The refusal of a message to an agent whose own record of the conversation is not what its last turn left. */
export const contextLost = (session: SessionRow): ReinsError<"context_unavailable"> =>
  new ReinsError({
    code: "context_unavailable",
    message:
      "The agent's own record of this conversation was changed or lost, so it cannot go on with it. " +
      "Create a new session with a summary as its first message.",
    details: { session_id: session.id, provider_id: session.provider_id }
  })

/** The refusal of another turn where `limit` of them wait. */
export const queueFull = (session: SessionRow, limit: number): ReinsError<"quota_exhausted"> =>
  new ReinsError({
    code: "quota_exhausted",
    message: `${limit} turns wait in this session already. Wait until some have run, or cancel them.`,
    details: { queued_turns: session.turns.queued, limit },
    retryAfterSeconds: 10
  })

export const worksForAnother = (parentId: string | null): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message: `This session works for the session ${parentId} and is deleted with it. Delete that one.`,
    details: { resource: "session" }
  })
