import { bySession, type OwnedRows } from "../store/OwnedRows.js"

/** The merge requests of a session. Their checks, reviews, threads and verdicts go with them. */
export const sessionRows: ReadonlyArray<OwnedRows> = [bySession("merge_requests")]
