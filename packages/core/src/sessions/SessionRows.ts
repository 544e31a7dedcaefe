import { bySession, type OwnedRows } from "../store/OwnedRows.js"

/** The conversation of a session. The words of the search and the session itself are deleted by `SessionStore`. */
export const sessionRows: ReadonlyArray<OwnedRows> = [
  bySession("interactions"),
  bySession("model_calls"),
  bySession("turn_results"),
  bySession("offered_tools"),
  bySession("turns"),
  bySession("messages"),
  bySession("uploads"),
  bySession("session_labels"),
  bySession("session_disk")
]
