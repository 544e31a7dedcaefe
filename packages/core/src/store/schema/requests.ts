/** Merge requests, what was seen of them, and what people decide of them. `standing` is the sum of what the last look has seen, as JSON; null before the first. */
export const requests: ReadonlyArray<string> = [
  `create table merge_requests (
    id text primary key,
    delivery_id text not null references deliveries(id),
    changeset_id text not null references changesets(id),
    session_id text not null references sessions(id),
    connection_id text not null references connections(id),
    forge text not null,
    repository text not null,
    head_branch text not null,
    base_branch text not null,
    title text not null,
    description text not null,
    draft integer not null,
    state text not null,
    reason text,
    reason_message text,
    number integer,
    web_url text,
    head_sha text,
    adopted integer not null,
    standing text,
    observed_at text,
    version integer not null,
    created_at text not null,
    updated_at text not null
  )`,
  `create index merge_requests_delivery on merge_requests (delivery_id, id)`,
  `create table watches (
    merge_request_id text primary key references merge_requests(id) on delete cascade,
    connection_id text not null,
    look_at text not null,
    rung integer not null,
    heard_at text,
    paused_until text,
    holder text,
    held_until text,
    failures integer not null,
    moved_at text not null,
    memory text not null
  )`,
  `create table merge_conditions (
    merge_request_id text primary key references merge_requests(id) on delete cascade,
    acts_for text not null,
    api_key_id text,
    round integer not null,
    shown text not null,
    seen text not null
  )`,
  `create table verdicts (
    id text primary key,
    changeset_id text not null references changesets(id) on delete cascade,
    subject_digest text not null,
    verdict text not null,
    note text,
    source text not null,
    account_id text,
    delegation_id text,
    created_at text not null
  )`,
  `create index verdicts_changeset on verdicts (changeset_id, id)`,
  `create index watches_look on watches (look_at)`,
  `create index watches_connection on watches (connection_id)`,
  `create table request_checks (
    id text primary key,
    merge_request_id text not null references merge_requests(id) on delete cascade,
    head_sha text not null,
    key text not null,
    run text not null,
    name text not null,
    state text not null,
    optional integer not null,
    on_base integer,
    url text,
    started_at text,
    ended_at text,
    unique (merge_request_id, head_sha, key)
  )`,
  `create table request_logs (
    merge_request_id text not null references merge_requests(id) on delete cascade,
    head_sha text not null,
    key text not null,
    run text not null,
    log text not null,
    read_at text not null,
    primary key (merge_request_id, head_sha, key)
  )`,
  `create table request_reviews (
    id text primary key,
    merge_request_id text not null references merge_requests(id) on delete cascade,
    forge_id text not null,
    author text not null,
    state text not null,
    head_sha text,
    body text not null,
    url text,
    submitted_at text,
    unique (merge_request_id, forge_id)
  )`,
  `create table request_threads (
    id text primary key,
    merge_request_id text not null references merge_requests(id) on delete cascade,
    forge_id text not null,
    path text,
    line integer,
    side text,
    outdated integer not null,
    resolved integer,
    comments text not null,
    unique (merge_request_id, forge_id)
  )`
]

/**
 * People ask the forge for things on a merge request. `draft_wanted` is the state that they have asked for and that is not there yet. A reply is a
 * comment that is written once: its mark finds it.
 */
export const requestActs: ReadonlyArray<string> = [
  `alter table merge_requests add column draft_wanted integer`,
  `create table request_replies (
    mark text primary key,
    merge_request_id text not null references merge_requests(id) on delete cascade,
    thread text,
    text text not null,
    forge_id text,
    url text,
    created_at text not null
  )`,
  `create index request_replies_request on request_replies (merge_request_id)`
]

/** `official` is the forge's own word on whether a review counts. Null where it does not tell. */
export const officialReviews: ReadonlyArray<string> = [`alter table request_reviews add column official integer`]

/** `identity` tells checks of one name apart, as JSON. Null for a check that was read before. */
export const checkIdentities: ReadonlyArray<string> = [`alter table request_checks add column identity text`]
