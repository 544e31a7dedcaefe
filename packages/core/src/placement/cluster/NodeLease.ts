import { Effect } from "effect"
import type { Database } from "../../store/Database.js"
import { nowMs } from "../NodeClock.js"
import type { NodeReport, NodeRole } from "../Nodes.js"

/** The slot that a process wants, and the facts about it. */
export interface Applicant {
  readonly name: string
  readonly bootId: string
  /** Tells the data directory from any other one. */
  readonly diskId: string
  readonly address: string
  readonly role: NodeRole
}

/** A process that has a node until its lease runs out. A newer holder has a higher epoch. */
export interface Holder {
  readonly name: string
  readonly bootId: string
  readonly epoch: number
}

/** A lease that was not given: another process holds the node until it runs out, or the node has files on another disk. */
export type Refusal =
  | { readonly kind: "held"; readonly address: string; readonly leftMs: number }
  | { readonly kind: "other_disk"; readonly sessions: number }

/**
 * The lease of a node, by the clock of the database alone. Each statement decides and writes at once, so no two processes hold a node at the same
 * time, whatever their clocks say.
 */
export const make = ({ all, first, run, sql }: Database["Type"], ttlMs: number) => {
  const now = nowMs(sql)

  /** The reason that nothing was taken. Undefined when the lease has run out meanwhile. */
  const refusal = Effect.fnUntraced(function* ({ diskId, name }: Applicant) {
    const row = yield* first(sql<{
      address: string
      disk_id: string
      left_ms: number
      sessions: number
    }>`select address,
      disk_id, (expires_at - ${now})::float8 as left_ms,
      (select cast(count(*) as integer) from placements where node_id = nodes.name) as sessions
      from nodes where name = ${name}`)
    if (row === undefined) return undefined
    if (row.left_ms > 0) return { kind: "held", address: row.address, leftMs: row.left_ms } satisfies Refusal
    if (row.disk_id !== diskId && row.sessions > 0)
      return { kind: "other_disk", sessions: row.sessions } satisfies Refusal
    return undefined
  })

  return {
    /**
     * Takes a node whose lease has run out, is the applicant's own, or belongs to one of the `ended` boots. From then on nothing that an earlier
     * holder has begun can be committed.
     */
    take: Effect.fnUntraced(function* (applicant: Applicant, ended: ReadonlyArray<string>) {
      const { address, bootId, diskId, name, role } = applicant
      const boots = [bootId, ...ended]
      // One statement, so that the epochs of the placements change with that of their node.
      const [row] = yield* all(sql<{ epoch: number }>`with taken as (
          insert into nodes (name, boot_id, disk_id, address, role, state, epoch, expires_at, providers, load)
          values (${name}, ${bootId}, ${diskId}, ${address}, ${role}, 'active', 1, ${now} + ${ttlMs}::bigint, '[]', 0)
          on conflict (name) do update set boot_id = excluded.boot_id, disk_id = excluded.disk_id,
            address = excluded.address, role = excluded.role, state = excluded.state, epoch = nodes.epoch + 1,
            expires_at = excluded.expires_at, load = 0
          where (nodes.expires_at <= ${now} or ${sql.in("nodes.boot_id", boots)})
            and (nodes.disk_id = excluded.disk_id
              or not exists (select 1 from placements where placements.node_id = nodes.name))
          returning name, epoch
        ), moved as (
          update placements set node_epoch = taken.epoch, epoch = placements.epoch + 1 from taken
          where placements.node_id = taken.name returning 1
        ) select epoch from taken`)
      if (row !== undefined) return { name, bootId, epoch: row.epoch } satisfies Holder
      return yield* refusal(applicant)
    }),
    /** Prolongs a lease that has not run out, and tells what is wished of the node. Undefined when it has. */
    renew: ({ bootId, epoch, name }: Holder, { load, providers }: NodeReport) =>
      Effect.map(
        first(sql<{ state: "active" | "draining" | "gone" }>`update nodes set expires_at = ${now} + ${ttlMs}::bigint,
          load = ${load}, providers = ${JSON.stringify(providers)}
          where name = ${name} and boot_id = ${bootId} and epoch = ${epoch} and expires_at > ${now} returning state`),
        (row) => row?.state
      ),
    /** Gives a lease back before its end. */
    release: ({ bootId, epoch, name }: Holder) =>
      run(sql`update nodes set expires_at = ${now}, state = 'gone'
        where name = ${name} and boot_id = ${bootId} and epoch = ${epoch} and state <> 'forgotten'`)
  }
}

/** The statements of the lease of a node. */
export type NodeLease = ReturnType<typeof make>

/** True for a lease that was given. */
export const isHolder = (taken: Holder | Refusal | undefined): taken is Holder =>
  taken !== undefined && "epoch" in taken
