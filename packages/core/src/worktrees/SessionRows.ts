import { bySession, type OwnedRows } from "../store/OwnedRows.js"

/** The snapshots of a session. Their blobs are taken out of use in the same commit, see `SnapshotStore.forget`. */
export const sessionRows: ReadonlyArray<OwnedRows> = [
  bySession("unsealed_changesets"),
  bySession("unsealed_uploads"),
  { table: "snapshot_parts", of: (sql, id) => sql`snapshot_id in (select id from snapshots where session_id = ${id})` },
  bySession("snapshots"),
  bySession("blob_sessions"),
  bySession("unsealed_sessions")
]
