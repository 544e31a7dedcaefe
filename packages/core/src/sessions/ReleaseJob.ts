import { rm } from "node:fs/promises"
import { Effect } from "effect"
import { Changesets } from "../changes/Changesets.js"
import { ChangesetId, newId, SessionId } from "../domain/Ids.js"
import { systemActor } from "../identity/Access.js"
import { JobError, type JobKind } from "../jobs/JobKind.js"
import { Journal } from "../store/Journal.js"
import { type SessionRow, SessionStore } from "./SessionStore.js"
import { releaseJobKind } from "./Sessions.js"
import { TurnSetup } from "./TurnSetup.js"
import { Workspaces } from "./Workspaces.js"

const actor = systemActor("workspaces")

/** Ends the executor of a closed session: captures what no changeset holds yet, then removes the agent's files. */
export const releaseJob = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* SessionStore
  const changesets = yield* Changesets
  const workspaces = yield* Workspaces
  const setup = yield* TurnSetup

  /** A salvage changeset when the workspace differs from what was captured last. */
  const salvage = Effect.fnUntraced(function* (session: SessionRow) {
    const id = yield* newId(ChangesetId)
    const captured = yield* changesets.take(session, id)
    const last = yield* changesets.newestSealed(session.id)
    if (captured.tree === last?.tree || (last === undefined && captured.files.length === 0)) return
    yield* journal.commit(
      Effect.gen(function* () {
        yield* changesets.open(id, session.id, actor, { origin: "salvage", label: null, turnId: null })
        yield* changesets.seal(id, captured, actor)
      })
    )
  })

  const lease = (session: SessionRow, state: "quiescing" | "released") =>
    journal.commit(
      Effect.gen(function* () {
        if (session.lease_id === null) return
        yield* store.change(session.id, { lease_state: state })
        yield* journal.append(session.id, actor, [
          {
            type: `executor.${state}`,
            payload: { lease_id: session.lease_id, backend: session.backend, reason: "session_closed" }
          }
        ])
      })
    )

  const release = Effect.fnUntraced(function* (id: SessionId) {
    const session = yield* store.find(id)
    if (session === undefined || session.workspace_state === "removed") return
    if (session.active_turn_id !== null) {
      return yield* new JobError({
        code: "turn_active",
        message: "The turn of the session has not ended yet.",
        retryable: true
      })
    }
    if (session.lease_state === "ready") yield* lease(session, "quiescing")
    yield* setup.reap(session)
    if (session.workspace_state === "ready") {
      yield* salvage(session).pipe(
        Effect.catchTag("GitError", (error) =>
          Effect.logWarning("the workspace could not be captured before its removal", error)
        )
      )
    }
    const { home, workTree } = workspaces.paths(id)
    yield* Effect.promise(async () => {
      await rm(workTree, { recursive: true, force: true })
      await rm(home, { recursive: true, force: true })
    })
    if (session.lease_state !== "none") yield* lease(session, "released")
    yield* journal.commit(store.change(id, { workspace_state: "removed" }))
  })

  return {
    kind: releaseJobKind,
    concurrency: 2,
    deadlineMs: 10 * 60_000,
    run: ({ claim }) => {
      const id = SessionId.make(claim.subject.id)
      return Effect.as(workspaces.exclusive(id, release(id)), { state: "succeeded" as const, command: Effect.void })
    },
    failed: () => Effect.void,
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})
