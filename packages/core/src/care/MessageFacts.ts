import { Effect } from "effect"
import { checkLogs } from "../requests/rows/CheckLogs.js"
import { partReads } from "../requests/rows/PartRows.js"
import { secretMask } from "../sessions/SecretMask.js"
import type { AttentionCause } from "./Care.js"
import { careMessage, type QuotedComment } from "./CareMessage.js"
import { policyOf } from "./CareStore.js"
import type { Synced } from "./Syncing.js"
import type { CareWork } from "./Work.js"

/** Gives the function that writes the message of an attention. Undefined when none of its checks and comments is there any more. */
export const makeMessageOf = Effect.gen(function* () {
  const { reviewsOf, seenChecksOf, threadsOf } = yield* partReads
  const logs = yield* checkLogs
  const maskOf = yield* secretMask

  const commentsOf = Effect.fnUntraced(function* ({ request }: CareWork, ids: ReadonlySet<string>) {
    const threads = yield* threadsOf(request.id)
    const reviews = yield* reviewsOf(request.id)
    const quoted: ReadonlyArray<QuotedComment> = [
      ...reviews
        .filter(({ id }) => ids.has(id))
        .map(({ author, body }) => ({ author: author.login, path: null, line: null, body })),
      ...threads.flatMap(({ comments, line, path }) =>
        comments
          .filter(({ forge_id }) => ids.has(forge_id))
          .map(({ author, body }) => ({ author: author.login, path, line, body }))
      )
    ]
    return quoted
  })

  return Effect.fnUntraced(function* (work: CareWork, given: Synced & { readonly mark: string }) {
    const { attention, request, row, session } = work
    const causes: ReadonlyArray<AttentionCause> = JSON.parse(attention.causes)
    const checkIds = new Set<string>(causes.flatMap(({ check_ids }) => check_ids))
    const kept = yield* logs.of(request.id, attention.head_sha)
    const checks = (yield* seenChecksOf(request.id, attention.head_sha))
      .filter(({ id }) => checkIds.has(id))
      .map(({ key, name, url }) => ({ name, url, log: kept.get(key)?.log }))
    const comments = yield* commentsOf(work, new Set(causes.flatMap(({ comment_ids }) => comment_ids)))
    if (checks.length === 0 && comments.length === 0 && given.conflicts.length === 0) return undefined
    const mask = yield* maskOf(session)
    const facts = {
      number: request.number,
      title: request.title,
      branch: request.head_branch,
      base: request.base_branch,
      head: attention.head_sha,
      isSynced: given.isSynced,
      conflicts: given.conflicts,
      protectedPaths: policyOf(row).protected_paths,
      checks,
      comments
    }
    return careMessage(yield* mask(facts), given.mark)
  })
})
