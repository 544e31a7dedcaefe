import { bySession, type OwnedRows } from "../store/OwnedRows.js"

/** The deliveries of a session. */
export const sessionRows: ReadonlyArray<OwnedRows> = [bySession("deliveries")]
