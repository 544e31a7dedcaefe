import { Effect, Schema } from "effect"
import { type Ask, decodeAnswer, ForgeError, type Refusal, refusedWith } from "./Forge.js"
import type { RemoteMergeRequest } from "./ForgeCalls.js"

/** The differences between forges that have pull requests below `/repos/<owner>/<name>/pulls`. */
export interface PullRequestDialect<A, I> {
  /** The name of the product, for messages. */
  readonly name: string
  readonly schema: Schema.Schema<A, I>
  readonly toRemote: (pull: A) => RemoteMergeRequest
  /** True for the refusal of a pull request whose branch has one already. */
  readonly isDouble: (refusal: Refusal) => boolean
}

/** The calls that such forges share. */
export const pullRequests = <A, I>(call: Ask, repository: string, dialect: PullRequestDialect<A, I>) => {
  const path = `/repos/${repository}/pulls`
  const absent = new ForgeError({
    kind: "not_found",
    message: `${dialect.name} has no such repository, branch or pull request, or the token may not see it: check all three.`
  })
  const declined = (refusal: Refusal): Effect.Effect<never, ForgeError> =>
    Effect.fail(
      refusal.status === 404
        ? absent
        : new ForgeError({
            kind: "rejected",
            message: `${dialect.name} declines the request (${refusedWith(refusal)})`
          })
    )
  return {
    list: (query: Readonly<Record<string, string>>) =>
      call({ method: "GET", path: `${path}?${new URLSearchParams(query)}` }).pipe(
        Effect.catchTag("Refusal", declined),
        Effect.flatMap(decodeAnswer(Schema.Array(dialect.schema)))
      ),
    create: (body: Readonly<Record<string, unknown>>) =>
      call({ method: "POST", path, body }).pipe(
        Effect.catchTag("Refusal", (refusal) =>
          dialect.isDouble(refusal)
            ? Effect.fail(new ForgeError({ kind: "exists", message: refusal.said }))
            : declined(refusal)
        ),
        Effect.flatMap(decodeAnswer(dialect.schema)),
        Effect.map(dialect.toRemote)
      ),
    get: (number: number) =>
      call({ method: "GET", path: `${path}/${number}` }).pipe(
        Effect.catchTag("Refusal", declined),
        Effect.flatMap(decodeAnswer(dialect.schema)),
        Effect.map(dialect.toRemote)
      ),
    /** `known` tells the refusals that mean a moved head or a temporary obstacle. */
    merge: (
      number: number,
      method: "POST" | "PUT",
      body: Readonly<Record<string, unknown>>,
      known: (refusal: Refusal) => "remote_head_changed" | "unavailable" | undefined
    ) =>
      call({ method, path: `${path}/${number}/merge`, body }).pipe(
        Effect.catchTag("Refusal", (refusal) => Effect.fail(notMerged(dialect.name, refusal, known(refusal), absent))),
        Effect.asVoid
      )
  }
}

const notMerged = (
  name: string,
  refusal: Refusal,
  kind: "remote_head_changed" | "unavailable" | undefined,
  absent: ForgeError
): ForgeError => {
  if (kind === "remote_head_changed") return new ForgeError({ kind, message: `${name}: ${refusal.said}` })
  if (kind === "unavailable")
    return new ForgeError({ kind, message: `${name} could not merge just now: ${refusal.said}` })
  return refusal.status === 404
    ? absent
    : new ForgeError({ kind: "not_mergeable", message: `${name} does not merge it (${refusedWith(refusal)})` })
}
