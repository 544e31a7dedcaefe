import type { Actor } from "@reins/base/domain/Event"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Executors } from "@reins/machine/executor/Executors"
import { Effect } from "effect"
import { JobStore } from "../../jobs/JobStore.js"
import { Projects } from "../../projects/Projects.js"
import { boundsOf } from "../../sessions/creation/SessionBounds.js"
import { isLeaseHeld } from "../../sessions/rows/Session.js"
import { leaseStateOf, type SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { Leases } from "../../worktrees/Leases.js"
import type { ActivationInput } from "./ExecutorApi.js"

/** The kind of the job that makes an executor and a workspace ready. */
export const activationJobKind = "executor.activate"

/** Chooses the backend, begins a lease when none is held, and enqueues the job that makes everything ready. The commit holds the session. */
export const activation = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const leases = yield* Leases
  const executors = yield* Executors
  const projects = yield* Projects

  const chooseBackend = Effect.fnUntraced(function* (row: SessionRow, wanted: SessionRow["executor"]["backend"]) {
    yield* executors.choose(wanted, boundsOf(row, yield* projects.specOf(row)))
    if (wanted === row.executor.backend) return
    if (isLeaseHeld(leaseStateOf(row))) return yield* otherBackend(row, wanted)
    yield* sessions.chooseBackend(row.id, wanted)
  })

  return Effect.fnUntraced(function* (
    row: SessionRow,
    actor: Actor,
    { backend = row.executor.backend }: ActivationInput
  ) {
    yield* chooseBackend(row, backend)
    // A lease that is being released ends first, and the job then begins the next one.
    const state = leaseStateOf(row)
    if (state === "ready") yield* Effect.zipRight(leases.use(row.id), sessions.touch(row.id))
    else if (state !== "quiescing") yield* leases.allocate(row.id, actor)
    return yield* jobs.enqueue({
      kind: activationJobKind,
      subject: { type: "session", id: row.id },
      workspaceId: row.workspace_id,
      payload: {},
      filesOf: row.id,
      maxAttempts: 5
    })
  })
})

const otherBackend = (row: SessionRow, wanted: string): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message: `The session has an executor of the backend ${row.executor.backend}. Release it before choosing ${wanted}.`,
    details: { resource: "executor lease", from: leaseStateOf(row), backend: row.executor.backend, requested: wanted }
  })
