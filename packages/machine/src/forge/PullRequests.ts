import { Effect, Schema } from "effect"
import { type Ask, decodeAnswer, ForgeError, type Refusal, refusedBy } from "./Forge.js"
import type { RemoteMergeRequest } from "./ForgeCalls.js"

/** The differences between forges that have pull requests below `/repos/<owner>/<name>/pulls`. */
export interface PullRequestDialect<A, I> {
  /** The name of the product, for messages. */
  readonly name: string
  readonly schema: Schema.Schema<A, I>
  readonly toRemote: (pull: A) => RemoteMergeRequest
  /** Hears of the refusal of a pull request whose branch has one already. */
  readonly doubled?: (refusal: Refusal) => void
}

/** The calls that such forges share. */
export const pullRequests = <A, I>(call: Ask, repository: string, dialect: PullRequestDialect<A, I>) => {
  const path = `/repos/${repository}/pulls`
  const absent = new ForgeError({
    kind: "not_found",
    message: `${dialect.name} has no such repository, branch or pull request, or the token may not see it: check all three.`
  })
  const declined = (refusal: Refusal): Effect.Effect<never, ForgeError> =>
    Effect.fail(refusal.status === 404 ? absent : refusedBy(dialect.name, refusal))
  const post = (body: Readonly<Record<string, unknown>>) =>
    call({ method: "POST", path, body }).pipe(
      Effect.tapErrorTag("Refusal", (refusal) =>
        Effect.sync(() => (refusal.kind === "exists" ? dialect.doubled?.(refusal) : undefined))
      )
    )
  return {
    list: (query: Readonly<Record<string, string>>) =>
      call({ method: "GET", path: `${path}?${new URLSearchParams(query)}` }).pipe(
        Effect.catchTag("Refusal", declined),
        Effect.flatMap(decodeAnswer(Schema.Array(dialect.schema)))
      ),
    create: (body: Readonly<Record<string, unknown>>) =>
      post(body).pipe(
        // A repository without drafts gets the pull request ready for review.
        Effect.catchIf(
          (error) => error._tag === "Refusal" && error.kind === "no_drafts" && body["draft"] === true,
          () => post({ ...body, draft: false })
        ),
        Effect.catchTag("Refusal", declined),
        Effect.flatMap(decodeAnswer(dialect.schema)),
        Effect.map(dialect.toRemote)
      ),
    get: (number: number) =>
      call({ method: "GET", path: `${path}/${number}` }).pipe(
        Effect.catchTag("Refusal", declined),
        Effect.flatMap(decodeAnswer(dialect.schema)),
        Effect.map(dialect.toRemote)
      ),
    merge: (number: number, method: "POST" | "PUT", body: Readonly<Record<string, unknown>>) =>
      call({ method, path: `${path}/${number}/merge`, body }).pipe(
        Effect.catchTag("Refusal", (refusal) => Effect.fail(notMerged(dialect.name, refusal, absent))),
        Effect.asVoid
      )
  }
}

/** A merge that the forge declines in words that are not known is not made. */
const notMerged = (name: string, refusal: Refusal, absent: ForgeError): ForgeError => {
  if (refusal.status === 404) return absent
  const error = refusedBy(name, refusal)
  return error.kind === "rejected" || error.kind === "exists"
    ? new ForgeError({ kind: "not_mergeable", message: error.message })
    : error
}
