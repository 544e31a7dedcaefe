import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import type { Database } from "../store/Database.js"
import { nowMs } from "./NodeClock.js"
import type { NodeRole, NodeView } from "./Nodes.js"

/** A node as it is stored. `state` is what was wished of it, and says nothing of its lease. */
interface NodeRow {
  readonly name: string
  readonly address: string
  readonly boot_id: string
  readonly role: NodeRole
  readonly state: "active" | "draining" | "gone"
  readonly epoch: number
  readonly expires_at: number
  readonly left_ms: number
  readonly providers: string
  readonly load: number
  readonly release: string
}

/** A node with the boot that holds it, or that held it last. */
export interface KnownNode extends NodeView {
  /** The boot. */
  readonly bootId: string
  /** The time until the end of its lease, in milliseconds; negative once it has run out. */
  readonly leftMs: number
}

/** Every node that was not forgotten, by name. */
export const list = ({ all, sql }: Database["Type"]): Effect.Effect<ReadonlyArray<KnownNode>> =>
  Effect.map(
    all(sql<NodeRow>`select name, address, boot_id, role, state, epoch, expires_at::float8 as expires_at,
      (expires_at - ${nowMs(sql)})::float8 as left_ms, providers, load, release from nodes
      where state <> 'forgotten' order by name`),
    (rows) =>
      rows.map(({ boot_id, expires_at, left_ms, providers, state, ...row }) => ({
        ...row,
        bootId: boot_id,
        leftMs: left_ms,
        state: left_ms > 0 || state === "gone" ? state : "lost",
        expiresAt: expires_at,
        providers: JSON.parse(providers)
      }))
  )

/** The number of sessions whose files each node has. A node without any is absent. */
export const held = ({ all, sql }: Database["Type"]): Effect.Effect<ReadonlyMap<string, number>> =>
  Effect.map(
    all(sql<{ node_id: string; held: number }>`select node_id, cast(count(*) as integer) as held from placements
      where node_id is not null group by node_id`),
    (rows) => new Map(rows.map((row) => [row.node_id, row.held]))
  )

/** The place of a session's files as it is stored. */
export interface StoredPlace {
  /** The node that has them, or awaits them from the snapshot; null for a session that is in its snapshot alone. */
  readonly node: string | null
  /** The data directory of that node. */
  readonly diskId: string | null
  readonly state: "placed" | "awaited" | "sealed" | "lost"
}

/** The places of all sessions that have one, or of one session. One machine has none. */
export const places = (
  { all, sql }: Database["Type"],
  id?: SessionId
): Effect.Effect<ReadonlyMap<string, StoredPlace>> =>
  Effect.map(
    all(sql<{
      session_id: string
      node_id: string | null
      disk_id: string | null
      state: StoredPlace["state"]
    }>`select session_id, node_id, disk_id, placements.state from placements
      left join nodes on nodes.name = node_id ${id === undefined ? sql`` : sql`where session_id = ${id}`}`),
    (rows) =>
      new Map(
        rows.map(({ disk_id, node_id, session_id, state }) => [session_id, { node: node_id, diskId: disk_id, state }])
      )
  )

/**
 * Takes sessions whose files were brought to another disk from the nodes that had them, so that the machine with this disk becomes their node when
 * it starts. Nodes that have no session any more are forgotten.
 */
export const letGo = ({ run, sql, transaction }: Database["Type"], ids: ReadonlyArray<string>) =>
  transaction(
    Effect.zipRight(
      run(sql`delete from placements where session_id in
        (select id from json_array_elements_text(cast(${JSON.stringify(ids)} as json)) as ids (id))`),
      run(sql`update nodes set state = 'forgotten', expires_at = 0
        where not exists (select 1 from placements where placements.node_id = nodes.name)`)
    )
  )

/** The sessions whose files a node has, oldest first. */
export const heldBy = ({ all, sql }: Database["Type"], node: string, limit: number) =>
  Effect.map(
    all(sql<{ session_id: SessionId }>`select session_id from placements where node_id = ${node}
      order by session_id limit ${limit}`),
    (rows) => rows.map((row) => row.session_id)
  )

/** Keeps new sessions from a node. False when no node of that name is alive. */
export const drain = ({ first, sql }: Database["Type"], node: string): Effect.Effect<boolean> =>
  Effect.map(
    first(sql`update nodes set state = 'draining' where name = ${node} and state <> 'gone'
      and expires_at > ${nowMs(sql)} returning name`),
    (row) => row !== undefined
  )

/**
 * Forgets a node for good. The files that it had count as lost, and the work that waits for them waits for their sessions to be placed anew. Gives
 * the number of these sessions; undefined when the node is alive or there is none of that name.
 */
export const forget = (db: Database["Type"], node: string): Effect.Effect<number | undefined> => {
  const { all, first, sql, transaction } = db
  return transaction(
    Effect.gen(function* () {
      const row = yield* first(
        // The row stays, so that its epochs go on: who holds an old one writes nothing under a new node of the name.
        sql`update nodes set state = 'forgotten' where name = ${node} and state <> 'forgotten'
          and expires_at <= ${nowMs(sql)} returning name`
      )
      if (row === undefined) return undefined
      const lost = yield* all(sql`update placements set node_id = null, node_epoch = null, epoch = epoch + 1,
        state = 'lost' where node_id = ${node} returning session_id`)
      return lost.length
    })
  )
}
