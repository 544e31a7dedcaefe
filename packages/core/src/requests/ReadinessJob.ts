import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { MergeRequestId } from "@reins/base/domain/Ids"
import { type Forge, ForgeError } from "@reins/machine/forge/Forge"
import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import type { Completion, JobWork, RunningAttempt } from "../jobs/JobKind.js"
import { JobStore } from "../jobs/JobStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { declinedBy, forgeAccess, forgeJobError, stillClaimed } from "./looks/ForgeAccess.js"
import type { MergeRequest } from "./rows/MergeRequest.js"
import { maxAttempts, readinessJobKind } from "./rows/MergeRequestJobs.js"
import { MergeRequestStore } from "./rows/MergeRequestStore.js"
import { type Reading, readNow } from "./rows/Reading.js"
import { WatchStore } from "./rows/WatchStore.js"

const actor = systemActor("merge_requests")

/** Makes a merge request a draft or ready for review, as its row wants it. It looks first, so what is so already is not asked for. */
export const readinessWork = Effect.gen(function* () {
  const store = yield* MergeRequestStore
  const access = yield* forgeAccess
  const settle = yield* makeSettle

  return {
    run: fn("readinessJob.run")(function* (attempt) {
      const request = yield* store.find(MergeRequestId.make(attempt.claim.subject.id))
      const done: Completion = { state: "succeeded", command: Effect.void }
      if (request?.state !== "open" || request.number === null || request.draft_wanted === null) return done
      const { draft_wanted: draft, number } = request
      const seen = yield* access(attempt, request, (forge) => draftOn(forge, attempt, number, draft)).pipe(
        Effect.catchTag("ForgeError", (error) => Effect.fail(forgeJobError(error)))
      )
      const command = settle(request, draft, seen)
      return seen.remote.state === "open"
        ? { state: "succeeded" as const, command }
        : { state: "failed" as const, failure: ended, command }
    }),
    failed: fn("readinessJob.failed")(function* (claim, failure) {
      const request = yield* store.find(MergeRequestId.make(claim.subject.id))
      if (request?.state === "open") yield* store.readinessDeclined(request.id, declinedBy(failure), actor)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})

const draftOn = Effect.fnUntraced(function* (forge: Forge, attempt: RunningAttempt, number: number, draft: boolean) {
  const before = yield* readNow(forge.get(number))
  if (before.remote.state !== "open" || before.remote.draft === draft) return before
  yield* stillClaimed(attempt)
  yield* forge.setDraft(number, draft)
  yield* failpoint("draft.set")
  const after = yield* readNow(forge.get(number))
  return after.remote.state === "open" && after.remote.draft !== draft ? yield* notShownYet : after
})

/** Gives the function that writes down how the forge has it. A wish of somebody else that came meanwhile has a job of its own. */
const makeSettle = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const store = yield* MergeRequestStore
  const watches = yield* WatchStore

  return Effect.fnUntraced(function* ({ id, session_id }: MergeRequest, draft: boolean, seen: Reading) {
    // A request for another state holds the session. So it came before this commit, or sees that the job has ended.
    const session = yield* sessions.lock(session_id)
    const current = yield* store.find(id)
    if (session === undefined || current?.state !== "open") return
    if (seen.remote.state !== "open") return yield* store.keepReading(id, seen, actor)
    if (current.draft_wanted === null || current.draft_wanted === draft) yield* store.readinessSet(id, seen, actor)
    else
      yield* jobs.enqueue({
        kind: readinessJobKind,
        subject: { type: "merge_request", id },
        workspaceId: session.workspace_id,
        payload: {},
        maxAttempts
      })
    yield* watches.ring(id, false)
  })
})

const notShownYet = new ForgeError({
  kind: "unavailable",
  message: "The forge took the change but does not show it yet. Look at the merge request later to see it."
})

const ended = {
  code: "rejected",
  message: "The merge request was merged or closed on the forge, so it stays as it was there.",
  retryable: false
}
