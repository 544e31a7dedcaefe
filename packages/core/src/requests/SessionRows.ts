import { bySession, type OwnedRows } from "../store/OwnedRows.js"

/** The merge requests of a session. Their checks, reviews and threads go with them. */
export const sessionRows: ReadonlyArray<OwnedRows> = [bySession("merge_requests")]
