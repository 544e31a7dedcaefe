/**
 * Followers of the logs of workspaces, each with the position up to which it has taken the events. A follower has a row for each key that it follows
 * for, as a webhook endpoint. One process at a time holds a row.
 */
export const events: ReadonlyArray<string> = [
  `create table followers (
    name text not null,
    key text not null,
    position integer not null,
    holder text,
    held_until text,
    primary key (name, key)
  )`
]
