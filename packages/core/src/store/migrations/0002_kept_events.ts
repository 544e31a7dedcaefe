/**
 * An index whose condition names the watermark of a session makes PostgreSQL write every index of its row anew with each event. The column
 * changes with the first event and when the events are deleted.
 */
export const keptEvents: ReadonlyArray<string> = [
  `alter table sessions add column has_events integer not null default 1`,
  `update sessions set has_events = 0 where first_event_seq > event_watermark`,
  `drop index sessions_closed`,
  `create index sessions_closed on sessions (id) where lifecycle = 'closed' and has_events = 1`
]
