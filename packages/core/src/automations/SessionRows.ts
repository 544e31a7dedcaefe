import { bySession, type OwnedRows } from "../store/OwnedRows.js"

/** The runs that worked in a session. */
export const sessionRows: ReadonlyArray<OwnedRows> = [bySession("automation_runs")]
