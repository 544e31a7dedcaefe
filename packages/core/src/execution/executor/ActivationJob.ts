import { fn } from "@reins/base/base/Traced"
import { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { systemActor } from "../../access/Access.js"
import { JobError, type JobKind } from "../../jobs/JobKind.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { Leases } from "../../worktrees/Leases.js"
import { mayPass } from "../setup/TurnRefused.js"
import { activationJobKind } from "./Activation.js"
import { agentsAhead } from "./AgentAhead.js"

const actor = systemActor("workspaces")

/**
 * Makes the executor and the workspace of a session ready, also beside a turn that runs, and begins to start the agent for a turn that is to
 * come. It leaves alone what is ready already.
 */
export const activationJob = Effect.gen(function* () {
  const leases = yield* Leases
  const store = yield* SessionStore
  const ahead = yield* agentsAhead
  return {
    kind: activationJobKind,
    beginsWork: true,
    // Sessions of one project wait here for the same setup, and others are not to wait behind them.
    concurrency: 16,
    deadlineMs: 30 * 60_000,
    run: fn("activationJob.run")(function* ({ claim }) {
      const id = SessionId.make(claim.subject.id)
      const session = yield* store.find(id)
      // A session that was closed meanwhile needs no executor any more.
      if (session === undefined || session.lifecycle === "closed")
        return { state: "cancelled" as const, command: Effect.void }
      yield* ahead.prepare(id).pipe(
        Effect.mapError(
          (error) =>
            new JobError({
              code: error.kind,
              message: `The workspace could not be made. ${error.message}`,
              retryable: mayPass(error)
            })
        )
      )
      // The agent starts beside this job, which does not wait for it.
      yield* Effect.asVoid(ahead.start(id))
      return { state: "succeeded" as const, command: Effect.void }
    }),
    failed: fn("activationJob.failed")(function* (claim, failure) {
      const session = yield* store.lock(claim.subject.id)
      // With an active turn the lease belongs to the turn that is being prepared, which goes on.
      if (session?.executor.lease?.state === "allocating" && session.turns.active === null)
        yield* leases.lose(session.id, actor, failure.code)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})
