import { ReinsError } from "../domain/ReinsError.js"
import type { SessionRow } from "./SessionStore.js"

/** The refusal of work for a session that is archived or closed. */
export const notOpen = (session: SessionRow): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message:
      session.lifecycle === "archived"
        ? "The session is archived. Unarchive it before sending it work."
        : "The session is closed for good. Create a new one.",
    details: { resource: "session", from: session.lifecycle }
  })

/** The refusal of a command that needs a session whose turns have all ended. */
export const turnActive = (row: SessionRow): ReinsError<"turn_active"> =>
  new ReinsError({
    code: "turn_active",
    message: "A turn waits or runs in this session. Wait until it has ended, or cancel it.",
    details: { turn_id: row.active_turn_id, queued_turns: row.queued_turns }
  })
