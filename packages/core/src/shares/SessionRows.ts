import { bySession, type OwnedRows } from "../store/OwnedRows.js"

/** The shares of a session. */
export const sessionRows: ReadonlyArray<OwnedRows> = [bySession("session_shares")]
