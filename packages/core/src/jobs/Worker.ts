import { AgentTraces } from "@reins/base/base/AgentTraces"
import { Boot } from "@reins/base/base/Boot"
import { type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { Cause, Clock, Effect, type Fiber, FiberId, FiberSet, Layer } from "effect"
import { Nodes } from "../placement/Nodes.js"
import { Placements } from "../placement/Placements.js"
import { Bell, jobsTopic, jobTopic } from "../store/Bell.js"
import { Journal } from "../store/Journal.js"
import * as Loop from "../store/Loop.js"
import * as AttemptEnds from "./AttemptEnds.js"
import { logWorkerDefect, tellOf } from "./AttemptLog.js"
import * as AttemptRun from "./AttemptRun.js"
import type { Claim, Loss } from "./Claim.js"
import { JobClaims } from "./JobClaims.js"
import type { JobKind } from "./JobKind.js"

/** Milliseconds after which the worker looks for work, lost attempts and expired claims even when nothing rang. */
const pollMs = 5_000

/** Milliseconds after which a worker whose node has lost its lease looks whether it has it again. */
const lostMs = 250

/**
 * Runs the jobs of the given kinds until the layer ends, which gives up the running attempts. `clearAfter` ends the processes that an ended
 * boot left behind, before any job of that boot goes on.
 */
export const layer = <E, R>(
  kinds: Effect.Effect<ReadonlyArray<JobKind>, E, R>,
  clearAfter: (bootIds: ReadonlyArray<string>) => Effect.Effect<void> = () => Effect.void
) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const worker = yield* makeWorker(yield* kinds, clearAfter)
      // Attempts of a dead boot are ended before anything new starts.
      yield* recover(worker)
      yield* Loop.start({
        failure: "the job worker failed and goes on",
        tell: logWorkerDefect,
        topics: [jobsTopic],
        everyMs: pollMs,
        againMs: pollMs,
        round: lookForWork(worker)
      })
    })
  )

interface Worker extends AttemptRun.Running {
  readonly boot: Boot["Type"]
  readonly nodes: Nodes["Type"]
  readonly placements: Placements["Type"]
  readonly clearAfter: (bootIds: ReadonlyArray<string>) => Effect.Effect<void>
  /** Runs an effect in a fiber of the layer. A fiber that was forked inside a commit would inherit its transaction. */
  readonly fork: (attempt: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
  /** The attempts that need files of sessions on this node. */
  readonly pinned: Set<Fiber.RuntimeFiber<void>>
  /** The kinds of the attempts that this process runs, by attempt. */
  readonly load: Map<string, JobKind>
}

const makeWorker = Effect.fnUntraced(function* (kinds: ReadonlyArray<JobKind>, clearAfter: Worker["clearAfter"]) {
  const boot = yield* Boot
  const nodes = yield* Nodes
  const running = yield* FiberSet.make<void>()
  const worker: Worker = {
    claims: yield* JobClaims,
    journal: yield* Journal,
    bell: yield* Bell,
    traces: yield* AgentTraces,
    boot,
    nodes,
    placements: yield* Placements,
    clearAfter,
    kinds: new Map(kinds.map((kind) => [kind.kind, kind])),
    self: { workerId: `${boot.nodeId}/${process.pid}`, bootId: boot.bootId },
    fork: yield* FiberSet.runtime(running)(),
    pinned: new Set(),
    load: new Map()
  }
  yield* nodes.tell({ load: Effect.sync(() => worker.load.size) })
  yield* nodes.onLost(dropPinned(worker))
  return worker
})

/**
 * Ends everything of this process that touches files of sessions, at once, because another node may begin with them soon. The attempts write nothing
 * any more, so nobody waits for their ends.
 */
const dropPinned = ({ boot, clearAfter, pinned }: Worker) =>
  Effect.zipRight(
    Effect.sync(() => {
      for (const fiber of pinned) fiber.unsafeInterruptAsFork(FiberId.none)
    }),
    clearAfter([boot.bootId])
  )

/** Ends lost attempts and starts due jobs. */
const lookForWork = Effect.fnUntraced(function* (worker: Worker) {
  // The lease comes back or it does not: nothing is begun until then.
  if (!worker.nodes.holds()) return { waitMs: lostMs }
  yield* recover(worker)
  yield* worker.claims.catchUp
  yield* Effect.forEach(yield* worker.claims.unplaced, worker.placements.settle, { discard: true })
  return { waitMs: yield* claimDue(worker) }
})

/** Ends the attempts whose workers are lost. */
const recover = Effect.fnUntraced(function* (worker: Worker) {
  const { boot, claims, clearAfter } = worker
  const ended = yield* boot.ended
  if (ended.length > 0) yield* clearAfter(ended)
  const lost = yield* claims.listLost({ ...boot, ended })
  yield* Effect.forEach(lost, ({ claim, loss }) => giveUp(worker, claim, loss), { discard: true })
  yield* Effect.forEach(ended, boot.forget, { discard: true })
})

/**
 * Ends a lost attempt. When this process runs the attempt itself, it stops the attempt first; the end of that run rings, and the attempt is
 * then given up. An attempt that cannot be ended now does not hold up others, and is tried again when it has been silent for as long as any
 * other.
 */
const giveUp = (worker: Worker, claim: Claim, loss: Loss) =>
  worker.load.has(claim.attemptId)
    ? worker.bell.ring(jobTopic(claim.jobId))
    : Effect.catchAllDefect(
        AttemptEnds.lose(worker, claim, loss),
        tellOf("a lost attempt could not be given up", claim)
      )

/** Claims due jobs and starts them. Gives the milliseconds to wait when none was due. */
const claimDue = Effect.fnUntraced(function* (worker: Worker) {
  // A kind that is full is looked at again when one of its jobs ends, which rings.
  const kinds = [...worker.kinds.values()].filter((kind) => roomFor(worker, kind) > 0)
  const waiting = yield* worker.claims.waiting(kinds.map((kind) => kind.kind))
  const at = yield* Clock.currentTimeMillis
  const left = kinds.map((kind) => ({ kind, ms: millisUntil(waiting.get(kind.kind), at) }))
  const claimed = yield* Effect.forEach(
    left.filter(({ ms }) => ms <= 0),
    ({ kind }) => claimOf(worker, kind)
  )
  // More jobs of a kind that was claimed may be due at once.
  if (claimed.some((some) => some)) return 0
  return Math.min(...left.map(({ ms }) => ms).filter((ms) => ms > 0))
})

/** The number of attempts of a kind that may still begin in this process. */
const roomFor = ({ load, nodes }: Worker, kind: JobKind): number =>
  (nodes.isDraining() && kind.beginsWork === true) || (nodes.role === "api" && kind.forAgents === true)
    ? 0
    : kind.concurrency - [...load.values()].filter((each) => each === kind).length

/** Starts the due jobs of a kind. True when there was one. A claimed job is started even when the service stops in between. */
const claimOf = (worker: Worker, kind: JobKind) =>
  Effect.uninterruptible(
    Effect.map(worker.claims.claim(kind.kind, roomFor(worker, kind), worker.self), (claims) => {
      for (const claim of claims) start(worker, kind, claim)
      return claims.length > 0
    })
  )

const start = (worker: Worker, kind: JobKind, claim: Claim): void => {
  const { bell, fork, load, pinned } = worker
  load.set(claim.attemptId, kind)
  const fiber = fork(
    AttemptRun.runAttempt(worker, kind, claim).pipe(
      // The claim then runs out, and the attempt is found lost.
      Effect.onError((cause) => tellUnlessInterrupted(cause, claim)),
      Effect.ensuring(
        Effect.suspend(() => {
          load.delete(claim.attemptId)
          return bell.ring(jobsTopic)
        })
      )
    )
  )
  if (claim.filesOf === null) return
  pinned.add(fiber)
  fiber.addObserver(() => pinned.delete(fiber))
}

const tellUnlessInterrupted = (cause: Cause.Cause<unknown>, claim: Claim) =>
  Cause.isInterruptedOnly(cause)
    ? Effect.void
    : tellOf("the end of an attempt was not written", claim)(Cause.squash(cause))

const millisUntil = (due: Timestamp | undefined, at: number): number =>
  due === undefined ? Number.POSITIVE_INFINITY : toMillis(due) - at
