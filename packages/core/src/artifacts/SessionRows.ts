import type { OwnedRows } from "../store/OwnedRows.js"
import { bySession } from "../store/OwnedRows.js"

/** The artifacts of a session with their contents. */
export const sessionRows: ReadonlyArray<OwnedRows> = [bySession("artifact_pieces"), bySession("artifacts")]
