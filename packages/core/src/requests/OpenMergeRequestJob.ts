import { failpoint } from "@reins/base/base/Failpoint"
import { foreignName } from "@reins/base/base/ForeignText"
import { fn } from "@reins/base/base/Traced"
import { MergeRequestId } from "@reins/base/domain/Ids"
import { type Forge, ForgeError, unproven } from "@reins/machine/forge/Forge"
import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import type { Claim } from "../jobs/Claim.js"
import type { JobWork, RunningAttempt } from "../jobs/JobKind.js"
import { declinedBy, forgeAccess, forgeJobError, stillClaimed } from "./looks/ForgeAccess.js"
import type { MergeRequest } from "./rows/MergeRequest.js"
import { MergeRequestStore } from "./rows/MergeRequestStore.js"

/** The longest title that a forge is sent, in UTF-16 units. */
const longestTitle = 500

const actor = systemActor("merge_requests")

const mergeRequestOf = (claim: Claim): MergeRequestId => MergeRequestId.make(claim.subject.id)

/** Opens a merge request, or adopts the open one of the same branches. */
export const openMergeRequestWork = Effect.gen(function* () {
  const store = yield* MergeRequestStore
  const access = yield* forgeAccess
  return {
    run: fn("openMergeRequestJob.run")(function* (attempt) {
      const request = yield* store.find(mergeRequestOf(attempt.claim))
      if (request?.state !== "pending") return { state: "succeeded" as const, command: Effect.void }
      const remote = yield* access(attempt, request, (forge) => openOn(attempt, forge, request)).pipe(
        Effect.catchTag("ForgeError", (error) => Effect.fail(forgeJobError(error)))
      )
      yield* failpoint("merge_request.created")
      const adopted = !remote.description.includes(markerOf(request))
      return { state: "succeeded" as const, command: store.opened(request.id, remote, adopted, actor) }
    }),
    failed: fn("openMergeRequestJob.failed")(function* (claim, failure) {
      const request = yield* store.find(mergeRequestOf(claim))
      if (request?.state === "pending") yield* store.failed(request.id, declinedBy(failure), actor)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})

/** Looks for an open merge request of the same branches first: a repetition finds its own there, and somebody else's is not doubled. */
const openOn = Effect.fnUntraced(function* (attempt: RunningAttempt, forge: Forge, request: MergeRequest) {
  const branches = { head: request.head_branch, base: request.base_branch }
  const found = yield* forge.find(branches)
  if (found !== undefined) return found
  yield* failpoint("merge_request.looked_up")
  yield* stillClaimed(attempt)
  const marker = markerOf(request)
  const description = request.description === "" ? marker : `${request.description}\n\n${marker}`
  return yield* forge
    .create({ ...branches, title: foreignName(request.title, longestTitle), description, draft: request.draft })
    .pipe(
      Effect.mapError(unproven),
      Effect.catchIf(
        (error) => error.kind === "exists",
        ({ message }) =>
          Effect.flatMap(forge.find(branches), (other) =>
            other === undefined
              ? Effect.fail(
                  new ForgeError({ kind: "rejected", message: `The forge declines the merge request: ${message}` })
                )
              : Effect.succeed(other)
          )
      )
    )
})

/** The line of a description that says which delivery a merge request belongs to. */
const markerOf = (request: MergeRequest): string => `Reins-Delivery: ${request.delivery_id}`
