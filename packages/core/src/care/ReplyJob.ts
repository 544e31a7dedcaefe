import { cutText } from "@reins/base/base/CutText"
import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { Effect, Schema } from "effect"
import type { JobWork } from "../jobs/JobKind.js"
import { forgeAccess, forgeJobError, stillClaimed } from "../requests/looks/ForgeAccess.js"
import { MergeRequestStore } from "../requests/rows/MergeRequestStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { secretMask } from "../sessions/SecretMask.js"
import { CareStore } from "./CareStore.js"

const Payload = Schema.Struct({ post_id: Schema.String })

const mostText = 4_000

const done = { state: "succeeded", command: Effect.void } as const

/** A text without mentions: nobody is called by what an agent has said. */
export const withoutMentions = (text: string): string => text.replace(/@(?=[\p{L}\p{N}_-])/gu, "@\u2060")

/** Writes one comment on a merge request. It looks for its own mark first, so that a lost answer makes no second one. */
export const replyWork = Effect.gen(function* () {
  const store = yield* CareStore
  const requests = yield* MergeRequestStore
  const sessions = yield* SessionStore
  const access = yield* forgeAccess
  const maskOf = yield* secretMask

  return {
    run: fn("replyJob.run")(function* (attempt) {
      const { post_id } = Schema.decodeUnknownSync(Payload)(attempt.claim.payload)
      const post = yield* store.findPost(post_id)
      const request = post && (yield* requests.find(post.merge_request_id))
      const session = request && (yield* sessions.find(request.session_id))
      if (post === undefined || post.forge_id !== null || session === undefined) return done
      if (request === undefined || request.number === null) return done
      const { number } = request
      const mask = yield* maskOf(session)
      const mark = `<!-- reins:${post.mark} -->`
      const text = `${withoutMentions(cutText(yield* mask(post.text), mostText))}\n\n${mark}`
      const comment = yield* access(attempt, request, (forge) =>
        Effect.gen(function* () {
          const known = yield* forge.posted(number, mark)
          if (known !== undefined) return known
          yield* stillClaimed(attempt)
          const written = yield* forge.reply(number, text)
          yield* failpoint("care.replied")
          return written
        })
      ).pipe(Effect.catchTag("ForgeError", (error) => Effect.fail(forgeJobError(error))))
      return { state: "succeeded" as const, command: store.posted(post.id, comment) }
    }),
    failed: () => Effect.void,
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobWork
})
