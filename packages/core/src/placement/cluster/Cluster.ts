import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { release } from "@reins/base/base/Release"
import { Context, Data, Effect, Layer } from "effect"
import { Bell, jobsTopic } from "../../store/Bell.js"
import { Database } from "../../store/Database.js"
import { Journal } from "../../store/Journal.js"
import { DatabaseNewer } from "../../store/Migrations.js"
import { defaultLeaseSeconds, type Times, timesOf } from "../LeaseTimes.js"
import * as NodeRows from "../NodeRows.js"
import { type Located, type NodeRole, Nodes, type ReportSources } from "../Nodes.js"
import { Placements } from "../Placements.js"
import * as ClusterPlacements from "./ClusterPlacements.js"
import { diskIdOf } from "./DiskId.js"
import { type Applicant, type Holder, isHolder, type LeaseRefusal, make, type NodeLease } from "./NodeLease.js"
import { keepTenure, type Monotonic, Tenure } from "./Tenure.js"

/** The settings of a node. Times are milliseconds and have defaults. */
export interface ClusterOptions extends Partial<Times> {
  /** The name of the node: a slot for one machine with its data directory. */
  readonly name: string
  /** The address at which the other nodes reach this one. */
  readonly address: string
  readonly role: NodeRole
  /** The database for the lease, with connections of its own, so that no other work keeps the lease from being renewed. */
  readonly leases: Layer.Layer<Database, { readonly message: string }>
  /** The time after the end of a node's lease from which on its sessions go to other nodes when somebody needs them. */
  readonly reclaimMs?: number
  /** The monotonic clock; the one of the process unless given. */
  readonly clock?: Monotonic
}

/** The sessions of a machine that does not come back for so long, in milliseconds, may go to other nodes. */
export const defaultReclaimMs = 300_000

/** The node cannot be had. The message is one sentence that says why. */
export class NodeRefused extends Data.TaggedError("NodeRefused")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

/** The time between two looks for a lease that another process still holds, in milliseconds. */
const lookAgainMs = 250

/**
 * A node of several on one PostgreSQL, with the places of the sessions' files. It waits for the lease of the node that a process before it held, and
 * gives it back with the scope. Fails with `NodeRefused` when another process keeps it.
 */
export const layer = (
  options: ClusterOptions
): Layer.Layer<Nodes | Placements, NodeRefused, Database | Bell | Boot | CoreConfig> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      // The schema is up to date once the database is there.
      const db = yield* Database
      const boot = yield* Boot
      const journal = yield* Journal
      const { dataDir } = yield* CoreConfig
      const { address, name, role } = options
      const bell = yield* Bell
      const times = { ...timesOf(options.ttlMs ?? defaultLeaseSeconds * 1000), ...options }
      const clock = options.clock ?? (() => performance.now())
      const leases = Context.get(yield* Layer.build(Layer.mapError(options.leases, unreachable)), Database)
      const lease = make(leases, times)
      const applicant = { name, bootId: boot.bootId, diskId: yield* diskIdOf(dataDir), address, role, release }

      const first = yield* makeTake(lease, applicant, boot.ended, clock, times.ttlMs)
      const tenure = new Tenure(first.holder, times, clock)
      tenure.hold(first.holder, first.startedAt)
      // What this process runs has ended by now, so another one need not wait.
      yield* Effect.addFinalizer(() => Effect.suspend(() => released(lease, tenure.holder)))
      let sources: ReportSources = { providers: Effect.succeed([]), load: Effect.succeed(0) }
      const report = Effect.suspend(() => Effect.all(sources))
      const mend = db.breakSilent(times.renewMs)
      tenure.onLost(mend)
      yield* keepTenure({
        applicant,
        clock,
        ended: boot.ended,
        lease,
        report,
        tenure,
        times,
        othersLost: bell.ring(jobsTopic),
        mend
      })

      const nodes = Nodes.of({
        self: name,
        role,
        locate: makeLocate(leases, name, times.renewMs, clock),
        list: NodeRows.list(leases),
        isDraining: () => tenure.isDraining,
        holds: () => tenure.holds(),
        onLost: (end) =>
          Effect.acquireRelease(
            Effect.sync(() => tenure.onLost(end)),
            (stop) => Effect.sync(stop)
          ),
        onHeld: (hear) =>
          Effect.acquireRelease(
            Effect.sync(() => tenure.onHeld(hear)),
            (stop) => Effect.sync(stop)
          ),
        tell: (given) =>
          Effect.sync(() => {
            sources = { ...sources, ...given }
          })
      })
      return Context.make(Nodes, nodes).pipe(
        Context.add(
          Placements,
          ClusterPlacements.make(db, tenure, journal, { ...times, reclaimMs: options.reclaimMs ?? defaultReclaimMs })
        )
      )
    })
  ).pipe(Layer.provide(Journal.layer))

const unreachable = ({ message }: { readonly message: string }) => new NodeRefused({ reason: message })

/** Takes the lease at the start. The process that held the node before may have ended without giving its lease back. */
const makeTake = Effect.fnUntraced(function* (
  lease: NodeLease,
  applicant: Applicant,
  ended: Boot["Type"]["ended"],
  clock: Monotonic,
  ttlMs: number
) {
  const patientUntil = clock() + ttlMs + lookAgainMs
  while (true) {
    const startedAt = clock()
    const taken = yield* lease.take(applicant, yield* ended)
    if (isHolder(taken)) return { holder: taken, startedAt }
    if (taken !== undefined && (taken.kind !== "held" || clock() > patientUntil))
      return yield* new NodeRefused({ reason: sentenceOf(applicant.name, taken) })
    yield* Effect.sleep(lookAgainMs)
  }
})

const sentenceOf = (name: string, refusal: LeaseRefusal): string => {
  if (refusal.kind === "too_old") return new DatabaseNewer({ needs: refusal.needs, unknown: [], release }).message
  return refusal.kind === "held"
    ? `The node ${name} is held by a process that lives at ${refusal.address}: each machine needs a name of its own (--node).`
    : `The node ${name} has the files of ${refusal.sessions} sessions in another data directory: start it there, or give those files up with: reins node forget ${name}`
}

/** The lease runs out by itself where the database cannot be reached. */
const released = (lease: NodeLease, holder: Holder) =>
  lease.release(holder).pipe(
    Effect.catchAllDefect(() => Effect.void),
    Effect.disconnect,
    Effect.timeoutOption("1 second")
  )

/** Finds nodes in the rows as they were read last. A node that is not alive there, or not there, is looked up anew. */
const makeLocate = (
  leases: Database["Type"],
  self: string,
  freshMs: number,
  clock: Monotonic
): Nodes["Type"]["locate"] => {
  let known: ReadonlyMap<string, NodeRows.KnownNode> = new Map()
  let readAt = Number.NEGATIVE_INFINITY
  const isAlive = (node: NodeRows.KnownNode | undefined): node is NodeRows.KnownNode =>
    node?.state === "active" || node?.state === "draining"
  return (name) =>
    Effect.gen(function* () {
      if (name === self) return { kind: "self" } satisfies Located
      if (clock() - readAt > freshMs || !isAlive(known.get(name))) {
        const at = clock()
        known = new Map((yield* NodeRows.list(leases)).map((node) => [node.name, node]))
        readAt = at
      }
      const node = known.get(name)
      return isAlive(node)
        ? ({ kind: "at", address: node.address, bootId: node.bootId } satisfies Located)
        : ({ kind: "lost" } satisfies Located)
    })
}
