/** The oldest release that may work with the schema, and the release of each node. Nothing older than 0.1.0 has ever worked with it. */
export const releases: ReadonlyArray<string> = [
  "insert into agreements (name, value) values ('min_release', '0.1.0')",
  "alter table nodes add column release text not null default '0.1.0'"
]
