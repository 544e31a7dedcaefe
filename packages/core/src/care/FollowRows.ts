import type { AttentionId, ChangesetId, MergeRequestId, SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { Database } from "../store/Database.js"
import type { AttentionRow, CareRow } from "./CareStore.js"

/** The reads of what turns have made that care did not begin. Their attentions have the changeset from the beginning. */
export const followRows = Effect.map(Database, ({ all, first, sql }) => {
  const idsOf = <Id extends string>(rows: ReadonlyArray<{ readonly id: Id }>) => rows.map(({ id }) => id)
  return {
    /** The open merge requests of a session whose care watches or works. */
    caredOf: (sessionId: SessionId) =>
      Effect.map(
        all(sql<{ id: MergeRequestId }>`select merge_requests.id from merge_requests
          join cares on cares.merge_request_id = merge_requests.id
          where session_id = ${sessionId} and merge_requests.state = 'open' and cares.state in ('watching', 'working')
          order by merge_requests.id`),
        idsOf
      ),
    /** The newest sealed work of a turn of a session that has succeeded, or of a given turn. */
    newestWork: (sessionId: SessionId, turnId?: string) =>
      Effect.map(
        first(sql<{ id: ChangesetId }>`select changesets.id from changesets
          join turns on turns.id = changesets.source_turn_id
          where changesets.session_id = ${sessionId} and changesets.state = 'ready' and turns.state = 'succeeded'
            ${turnId === undefined ? sql`` : sql`and turns.id = ${turnId}`}
          order by changesets.id desc limit 1`),
        (row) => row?.id
      ),
    /** True when a care has turned to a changeset since somebody has put it, or a person may still deliver it as a proposal. */
    isKnown: ({ generation, merge_request_id }: CareRow, changesetId: ChangesetId) =>
      Effect.map(
        first(sql<{ id: string }>`select id from attentions where merge_request_id = ${merge_request_id}
          and changeset_id = ${changesetId} and (generation = ${generation} or state = 'proposed') limit 1`),
        (row) => row !== undefined
      ),
    /** The attention that waits for an earlier delivery, the oldest first. */
    waiting: (id: MergeRequestId) =>
      all(sql<AttentionRow>`select * from attentions
        where merge_request_id = ${id} and follows = 1 and state = 'preparing' order by id`),
    /** The tree of the newest work that is to be delivered and was not; undefined for none. */
    newestTree: (id: MergeRequestId) =>
      Effect.map(
        first(sql<{ tree: string }>`select tree from attentions join changesets on changesets.id = changeset_id
          where merge_request_id = ${id} and follows = 1 and attentions.state in ('preparing', 'delivering')
          order by attentions.id desc limit 1`),
        (row) => row?.tree
      ),
    /** True when files hold a change that a person delivers, made after a changeset. */
    awaitsPerson: (id: MergeRequestId, after: ChangesetId) =>
      Effect.map(
        first(sql<{ id: string }>`select id from attentions where merge_request_id = ${id} and proposes = 1
          and state in ('proposed', 'superseded') and changeset_id > ${after} limit 1`),
        (row) => row !== undefined
      ),
    /** True while a delivery of another changeset to a branch of a session waits or runs. */
    isUnderWay: (sessionId: SessionId, branch: string, changesetId: ChangesetId) =>
      Effect.map(
        first(sql<{ id: string }>`select id from deliveries where session_id = ${sessionId} and target_ref = ${branch}
          and changeset_id <> ${changesetId} and state in ('pending', 'executing') limit 1`),
        (row) => row !== undefined
      ),
    /** The attentions of a session that have waited for a delivery to end. */
    unasked: (sessionId: SessionId) =>
      Effect.map(
        all(sql<{ id: AttentionId }>`select id from attentions where session_id = ${sessionId} and follows = 1
          and state = 'delivering' and delivery_id is null`),
        idsOf
      )
  }
})
