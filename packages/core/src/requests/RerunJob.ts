import { fn } from "@reins/base/base/Traced"
import { CheckId, MergeRequestId } from "@reins/base/domain/Ids"
import { Effect, Schema } from "effect"
import type { JobWork } from "../jobs/JobKind.js"
import { forgeAccess, forgeJobError, stillClaimed } from "./looks/ForgeAccess.js"
import { MergeRequestStore } from "./rows/MergeRequestStore.js"
import { partReads } from "./rows/PartRows.js"
import { WatchStore } from "./rows/WatchStore.js"

const Payload = Schema.Struct({ check_ids: Schema.Array(CheckId) })

/** Begins checks of the head anew. One that has another state by now is left alone, so a repetition begins none twice. */
export const rerunWork = Effect.gen(function* () {
  const store = yield* MergeRequestStore
  const watches = yield* WatchStore
  const access = yield* forgeAccess
  const { seenChecksOf } = yield* partReads

  return {
    run: fn("rerunJob.run")(function* (attempt) {
      const done = { state: "succeeded" as const, command: Effect.void }
      const request = yield* store.find(MergeRequestId.make(attempt.claim.subject.id))
      if (request?.state !== "open" || request.number === null) return done
      const { check_ids } = Schema.decodeUnknownSync(Payload)(attempt.claim.payload)
      const checks = yield* seenChecksOf(request.id, request.head_sha ?? "")
      const red = checks.filter(
        ({ id, state }) => check_ids.includes(id) && (state === "failing" || state === "cancelled")
      )
      yield* access(attempt, request, (forge) =>
        Effect.forEach(red, (check) => Effect.zipRight(stillClaimed(attempt), forge.rerun(check)), { discard: true })
      ).pipe(Effect.catchTag("ForgeError", (error) => Effect.fail(forgeJobError(error))))
      return { state: "succeeded" as const, command: Effect.asVoid(watches.ring(request.id, false)) }
    }),
    failed: () => Effect.void,
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})
