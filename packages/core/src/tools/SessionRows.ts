import { bySession, type OwnedRows } from "../store/OwnedRows.js"

/** The calls of tools in a session. */
export const sessionRows: ReadonlyArray<OwnedRows> = [bySession("tool_calls")]
