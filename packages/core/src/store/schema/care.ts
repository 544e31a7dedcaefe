/**
 * The care for merge requests. A cause has one row, so that it gets one turn. `fingerprint` has the names of the checks that were red before a turn, and
 * `generation` counts how often somebody has put the care. A post is a comment that is written once: it is found by its mark.
 */
export const care: ReadonlyArray<string> = [
  `create table cares (
    merge_request_id text primary key references merge_requests(id) on delete cascade,
    policy text not null,
    state text not null,
    reason text,
    acts_for text not null,
    api_key_id text,
    generation integer not null,
    turns integer not null,
    spent_tokens bigint not null,
    spent_nano_usd bigint,
    attention_id text,
    version integer not null,
    created_at text not null,
    updated_at text not null
  )`,
  `create index cares_state on cares (state)`,
  `create table attentions (
    id text primary key,
    merge_request_id text not null references merge_requests(id) on delete cascade,
    session_id text not null,
    generation integer not null,
    head_sha text not null,
    state text not null,
    fingerprint text,
    causes text not null,
    proposes integer not null,
    base_sha text,
    head_tree text,
    tree_before text,
    message_id text,
    turn_id text,
    changeset_id text,
    delivery_id text,
    commit_sha text,
    reason text,
    created_at text not null,
    updated_at text not null
  )`,
  `create index attentions_request on attentions (merge_request_id, id)`,
  `create index attentions_session on attentions (session_id)`,
  `create unique index attentions_turn on attentions (turn_id) where turn_id is not null`,
  `create index attentions_delivery on attentions (delivery_id) where delivery_id is not null`,
  `create table attention_causes (
    merge_request_id text not null references merge_requests(id) on delete cascade,
    key text not null,
    attention_id text not null,
    primary key (merge_request_id, key)
  )`,
  `create table care_reruns (
    merge_request_id text not null references merge_requests(id) on delete cascade,
    key text not null,
    primary key (merge_request_id, key)
  )`,
  `create table care_posts (
    id text primary key,
    merge_request_id text not null references merge_requests(id) on delete cascade,
    attention_id text,
    mark text not null,
    text text not null,
    forge_id text,
    url text,
    created_at text not null
  )`,
  `create index care_posts_request on care_posts (merge_request_id)`
]

/**
 * The deliveries of turns that care did not begin. `follows` is 1 for their attentions, whose changeset is known from the beginning. A generation delivers
 * a changeset once.
 */
export const careFollows: ReadonlyArray<string> = [
  `alter table attentions add column follows integer`,
  `create index attentions_follows on attentions (merge_request_id, generation, changeset_id) where follows = 1`
]
