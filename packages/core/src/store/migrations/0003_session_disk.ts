/** The bytes that sessions hold on the disk, for the quota of their workspace. A part of the third step. */
export const sessionDisk: ReadonlyArray<string> = [
  `create table session_disk (
    session_id text primary key references sessions(id),
    workspace_id text not null,
    bytes bigint not null,
    measured_at text not null
  )`,
  `create index session_disk_workspace on session_disk (workspace_id)`
]
