/**
 * The nodes of an installation on several machines, the places of the sessions' files, and the limits that nodes count together. One machine alone
 * writes none of it. Times are milliseconds of the database's clock, so that no clock of a machine decides about a lease. A placement is `expected`
 * while its node was not told that the session may soon get its first turn. `stream_seats` has a row for each stream that is open on a boot.
 */
export const placement: ReadonlyArray<string> = [
  `create table nodes (
    name text primary key,
    boot_id text not null,
    disk_id text not null,
    address text not null,
    role text not null,
    state text not null,
    epoch integer not null,
    expires_at bigint not null,
    providers text not null,
    load integer not null,
    release text not null default '0.1.0'
  )`,
  `create table placements (
    session_id text primary key references sessions(id),
    node_id text,
    node_epoch integer,
    epoch integer not null,
    state text not null,
    placed_at bigint not null,
    expected integer not null default 0
  )`,
  `create index placements_node on placements (node_id, placed_at) where node_id is not null`,
  `create index placements_expected on placements (node_id) where expected = 1`,
  `create table stream_seats (
    id text primary key,
    seat text not null,
    boot_id text not null
  )`,
  `create index stream_seats_seat on stream_seats (seat)`
]

/**
 * Says when each caller has all of the requests of a minute again, with the last count that a node has told. It may be lost with a crash of the
 * database, so PostgreSQL does not log it and nobody waits for it to reach a disk.
 */
const credit = `table request_credit (
    subject text primary key,
    full_at double precision not null,
    used double precision not null,
    wanted double precision not null,
    granted double precision not null
  )`

export const requestCredit = { pg: [`create unlogged ${credit}`], sqlite: [`create ${credit}`] } as const
