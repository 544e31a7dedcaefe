import { foreignWords } from "@reins/base/base/ForeignWords"
import { Effect, Option, Schema } from "effect"
import { type Ask, ForgeError, type Refusal, refusedBy } from "./Forge.js"
import { mergeWordOf } from "./GitLabMergeWords.js"

/** The failure for a project or merge request that GitLab does not show. */
export const absentFromGitLab = new ForgeError({
  kind: "not_found",
  message: "GitLab has no such project or merge request, or the token may not see it: check both."
})

const After = Schema.Struct({
  state: Schema.optionalWith(Schema.Unknown, { default: () => undefined }),
  merge_error: Schema.optionalWith(Schema.Unknown, { default: () => undefined })
})
const readAfter = Schema.decodeUnknownOption(After)

const Status = Schema.Struct({ detailed_merge_status: Schema.String })
const readStatus = Schema.decodeUnknownOption(Status)

const longestError = 500

/** Merges a merge request. GitLab may take the call and tell in its answer that the merge did not work. */
export const gitLabMerge = Effect.fnUntraced(function* (
  call: Ask,
  path: string,
  body: { readonly sha: string; readonly squash: boolean }
): Effect.fn.Return<void, ForgeError> {
  const answer = yield* call({ method: "PUT", path: `${path}/merge`, body }).pipe(
    Effect.catchTag("Refusal", (refusal) => Effect.flatMap(notMerged(call, path, refusal), Effect.fail)),
    Effect.catchIf(
      ({ kind }) => kind === "unauthenticated",
      (error) => Effect.flatMap(mayNotMerge(call, path, error), Effect.fail)
    )
  )
  const { merge_error, state } = Option.getOrElse(readAfter(answer), () => ({
    merge_error: undefined,
    state: undefined
  }))
  if (state === "merged" || typeof merge_error !== "string" || merge_error === "") return
  return yield* new ForgeError({
    kind: "not_mergeable",
    message: `GitLab took the merge, and it did not work: ${foreignWords(merge_error, longestError)}`
  })
})

/** GitLab answers 405 and 422 without a reason, and tells the first one with the merge request. */
const notMerged = Effect.fnUntraced(function* (call: Ask, path: string, refusal: Refusal) {
  if (refusal.status === 404) return absentFromGitLab
  if (refusal.status === 409 && refusal.kind !== "moving")
    return new ForgeError({ kind: "remote_head_changed", message: refusedBy("GitLab", refusal).message })
  const error = refusedBy("GitLab", refusal)
  if (error.kind === "unavailable") return error
  const word = yield* call({ method: "GET", path }).pipe(
    Effect.map((answer) => Option.getOrUndefined(readStatus(answer))?.detailed_merge_status),
    Effect.catchAll(() => Effect.succeed(undefined))
  )
  const reason = word === undefined ? undefined : mergeWordOf(word)
  return new ForgeError({
    kind: reason?.passes === true ? "unavailable" : "not_mergeable",
    message: reason === undefined ? error.message : `GitLab does not merge it. ${reason.say}`
  })
})

/** GitLab answers a merge with 401 also where the account may not merge. A token that still reads the merge request is a good one. */
const mayNotMerge = (call: Ask, path: string, error: ForgeError): Effect.Effect<ForgeError> =>
  call({ method: "GET", path }).pipe(
    Effect.as(
      new ForgeError({
        kind: "forbidden",
        message: "GitLab does not let the account of the token merge this: give it the right, or use another token."
      })
    ),
    Effect.catchAll(() => Effect.succeed(error))
  )
