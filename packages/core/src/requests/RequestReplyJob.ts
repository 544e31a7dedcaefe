import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { Effect, Schema } from "effect"
import { systemActor } from "../access/Access.js"
import type { Claim } from "../jobs/Claim.js"
import type { JobWork } from "../jobs/JobKind.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { secretMask } from "../sessions/SecretMask.js"
import { declinedBy, forgeAccess, forgeJobError, stillClaimed } from "./looks/ForgeAccess.js"
import { MergeRequestStore } from "./rows/MergeRequestStore.js"
import { markOf, requestReplies } from "./rows/RequestReplies.js"
import { WatchStore } from "./rows/WatchStore.js"

const Payload = Schema.Struct({ mark: Schema.String })
const payloadOf = ({ payload }: Claim) => Schema.decodeUnknownSync(Payload)(payload)

const actor = systemActor("merge_requests")

/** Writes the comment of a person. It looks for its own mark first, so that a lost answer makes no second one. */
export const requestReplyWork = Effect.gen(function* () {
  const replies = yield* requestReplies
  const requests = yield* MergeRequestStore
  const sessions = yield* SessionStore
  const watches = yield* WatchStore
  const access = yield* forgeAccess
  const maskOf = yield* secretMask

  return {
    run: fn("requestReplyJob.run")(function* (attempt) {
      const done = { state: "succeeded" as const, command: Effect.void }
      const reply = yield* replies.find(payloadOf(attempt.claim).mark)
      const request = reply && (yield* requests.find(reply.merge_request_id))
      const session = request && (yield* sessions.find(request.session_id))
      if (reply === undefined || reply.forge_id !== null || session === undefined) return done
      if (request === undefined || request.number === null) return done
      const { number } = request
      const mask = yield* maskOf(session)
      const mark = markOf(reply.mark)
      const thread = reply.thread ?? undefined
      const comment = yield* access(attempt, request, (forge) =>
        Effect.gen(function* () {
          const known = yield* forge.posted(number, mark, thread)
          if (known !== undefined) return known
          yield* stillClaimed(attempt)
          const written = yield* forge.reply(number, `${yield* mask(reply.text)}\n\n${mark}`, thread)
          yield* failpoint("request.replied")
          return written
        })
      ).pipe(Effect.catchTag("ForgeError", (error) => Effect.fail(forgeJobError(error))))
      const command = Effect.gen(function* () {
        yield* replies.written(reply.mark, comment)
        yield* requests.replied(request.id, undefined, actor)
        yield* watches.ring(request.id, false)
      })
      return { state: "succeeded" as const, command }
    }),
    failed: fn("requestReplyJob.failed")(function* (claim, failure) {
      const reply = yield* replies.find(payloadOf(claim).mark)
      if (reply !== undefined) yield* requests.replied(reply.merge_request_id, declinedBy(failure), actor)
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})
