import { bySession, type OwnedRows } from "../store/OwnedRows.js"

/** The lease, the files, the memory of the agent and the snapshots of a session. The blobs of snapshots are taken out of use in the same commit, see `SnapshotStore.forget`. */
export const sessionRows: ReadonlyArray<OwnedRows> = [
  bySession("unsealed_changesets"),
  bySession("unsealed_uploads"),
  { table: "snapshot_parts", of: (sql, id) => sql`snapshot_id in (select id from snapshots where session_id = ${id})` },
  bySession("snapshots"),
  bySession("blob_sessions"),
  bySession("unsealed_sessions"),
  bySession("agent_states"),
  bySession("working_trees"),
  bySession("leases")
]
