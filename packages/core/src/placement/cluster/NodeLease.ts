import { Effect } from "effect"
import { neededBeyond } from "../../store/Agreements.js"
import type { Database } from "../../store/Database.js"
import type { Times } from "../LeaseTimes.js"
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
  readonly release: string
}

/** A process that has a node until its lease runs out. A newer holder has a higher epoch. */
export interface Holder {
  readonly name: string
  readonly bootId: string
  readonly epoch: number
}

/**
 * A lease that was not given: another process holds the node until it runs out, the node has files on another disk, or the schema needs a newer
 * release.
 */
export type LeaseRefusal =
  | { readonly kind: "held"; readonly address: string; readonly leftMs: number }
  | { readonly kind: "other_disk"; readonly sessions: number }
  | { readonly kind: "too_old"; readonly needs: string }

/**
 * The lease of a node, by the clock of the database alone. Each statement decides and writes at once, so no two processes hold a node at the same
 * time, whatever their clocks say.
 */
export const make = (db: Database["Type"], { renewMs, ttlMs }: Pick<Times, "renewMs" | "ttlMs">) => {
  const { all, breakSilent, first, run, sql } = db
  const now = nowMs(sql)

  /** The reason that nothing was taken. Undefined when the lease has run out meanwhile. */
  const refusal = Effect.fnUntraced(function* ({ diskId, name, release }: Applicant) {
    const [newer] = yield* all(neededBeyond(sql, release))
    if (newer !== undefined) return { kind: "too_old", needs: newer.value } satisfies LeaseRefusal
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
    if (row.left_ms > 0) return { kind: "held", address: row.address, leftMs: row.left_ms } satisfies LeaseRefusal
    if (row.disk_id !== diskId && row.sessions > 0)
      return { kind: "other_disk", sessions: row.sessions } satisfies LeaseRefusal
    return undefined
  })

  return {
    /**
     * Takes a node whose lease has run out, is the applicant's own, or belongs to one of the `ended` boots. From then on nothing that an earlier
     * holder has begun can be committed.
     */
    take: Effect.fnUntraced(function* (applicant: Applicant, ended: ReadonlyArray<string>) {
      const { address, bootId, diskId, name, release, role } = applicant
      const boots = [bootId, ...ended]
      // One statement, so that the epochs of the placements change with that of their node.
      const [row] = yield* all(sql<{ epoch: number }>`with taken as (
          insert into nodes (name, boot_id, disk_id, address, role, state, epoch, expires_at, providers, load, release)
          select ${name}, ${bootId}, ${diskId}, ${address}, ${role}, 'active', 1, ${now} + ${ttlMs}::bigint, '[]', 0, ${release}
            where not exists (${neededBeyond(sql, release)})
          on conflict (name) do update set boot_id = excluded.boot_id, disk_id = excluded.disk_id,
            address = excluded.address, role = excluded.role, state = excluded.state, epoch = nodes.epoch + 1,
            expires_at = excluded.expires_at, load = 0, release = excluded.release
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
    /**
     * Prolongs a lease that has not run out. Tells what is wished of the node, and whether another one has lost its lease since the renewal before
     * the last. Undefined when the lease has run out.
     */
    renew: ({ bootId, epoch, name }: Holder, { load, providers }: NodeReport) =>
      Effect.map(
        first(sql<{
          state: "active" | "draining" | "gone"
          others_lost: boolean
        }>`update nodes set expires_at = ${now} + ${ttlMs}::bigint, load = ${load}, providers = ${JSON.stringify(providers)}
          where name = ${name} and boot_id = ${bootId} and epoch = ${epoch} and expires_at > ${now}
          returning state, exists (select 1 from nodes as other where other.name <> ${name}
            and other.expires_at between ${now} - ${2 * renewMs}::bigint and ${now}) as others_lost`),
        (row) => row && { isDraining: row.state === "draining", othersLost: row.others_lost }
      ),
    /** Breaks the connections on which nothing is answered. */
    breakSilent: breakSilent(renewMs),
    /** Gives a lease back before its end. */
    release: ({ bootId, epoch, name }: Holder) =>
      run(sql`update nodes set expires_at = ${now}, state = 'gone'
        where name = ${name} and boot_id = ${bootId} and epoch = ${epoch} and state <> 'forgotten'`)
  }
}

/** The statements of the lease of a node. */
export type NodeLease = ReturnType<typeof make>

/** True for a lease that was given. */
export const isHolder = (taken: Holder | LeaseRefusal | undefined): taken is Holder =>
  taken !== undefined && "epoch" in taken
