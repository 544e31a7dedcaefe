import { Effect, Schema } from "effect"
import { type Branches, type Forge, ForgeError, type RemoteMergeRequest } from "./Forge.js"
import { type Ask, ask, type ForgeAccess, type Refusal, understood } from "./ForgeRequest.js"

const PullRequest = Schema.Struct({
  number: Schema.Int,
  html_url: Schema.String,
  state: Schema.Literal("open", "closed"),
  merged: Schema.Boolean,
  draft: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  body: Schema.String,
  head: Schema.Struct({ ref: Schema.String, sha: Schema.String, repo_id: Schema.Int }),
  base: Schema.Struct({ ref: Schema.String, repo_id: Schema.Int })
})
type PullRequest = typeof PullRequest.Type

const toRemote = (pull: PullRequest): RemoteMergeRequest => ({
  number: pull.number,
  webUrl: pull.html_url,
  state: pull.merged ? "merged" : pull.state,
  draft: pull.draft,
  description: pull.body,
  headSha: pull.head.sha
})

const pageSize = 50
const maxPages = 20

/** Pull requests of a repository `owner/name` on Gitea or Forgejo. */
export const make = (access: Omit<ForgeAccess, "headers">, repository: string): Forge => {
  const call: Ask = ask({ ...access, headers: (token) => ({ authorization: `token ${token}` }) })
  const pulls = `/repos/${repository}/pulls`

  // Not every version filters by branch, so the open ones are looked through, those changed last first.
  const search = (branches: Branches, page: number): Effect.Effect<RemoteMergeRequest | undefined, ForgeError> => {
    const query = new URLSearchParams({
      state: "open",
      sort: "recentupdate",
      limit: String(pageSize),
      page: String(page)
    })
    return call({ method: "GET", path: `${pulls}?${query}` }).pipe(
      Effect.catchTag("Refusal", declined),
      Effect.flatMap(understood(Schema.Array(PullRequest))),
      Effect.flatMap((found) => {
        const own = found.find((pull) => isOf(branches, pull))
        if (own !== undefined) return Effect.succeed(toRemote(own))
        return found.length === 0 || page === maxPages ? Effect.succeed(undefined) : search(branches, page + 1)
      })
    )
  }

  return {
    kind: "gitea",
    find: (branches) => search(branches, 1),
    create: ({ base, description, draft, head, title }) =>
      call({
        method: "POST",
        path: pulls,
        body: { title: draft ? `WIP: ${title}` : title, head, base, body: description }
      }).pipe(
        Effect.catchTag("Refusal", (refusal) =>
          refusal.status === 409
            ? Effect.fail(new ForgeError({ kind: "exists", message: refusal.said }))
            : declined(refusal)
        ),
        Effect.flatMap(understood(PullRequest)),
        Effect.map(toRemote)
      ),
    get: (number) =>
      call({ method: "GET", path: `${pulls}/${number}` }).pipe(
        Effect.catchTag("Refusal", declined),
        Effect.flatMap(understood(PullRequest)),
        Effect.map(toRemote)
      ),
    merge: (number, { expectedHead, method }) =>
      call({
        method: "POST",
        path: `${pulls}/${number}/merge`,
        body: { Do: method, head_commit_id: expectedHead }
      }).pipe(
        Effect.catchTag("Refusal", (refusal) => Effect.fail(notMerged(refusal))),
        Effect.asVoid
      )
  }
}

const isOf = ({ base, head }: Branches, pull: PullRequest): boolean =>
  pull.head.ref === head && pull.base.ref === base && pull.head.repo_id === pull.base.repo_id

const notMerged = ({ said, status }: Refusal): ForgeError => {
  // A conflict of the content is 409 too, in other words.
  if (status === 409 && /head (?:out of date|target does not match)/i.test(said)) {
    return new ForgeError({ kind: "remote_head_changed", message: `Gitea: ${said}` })
  }
  // It is still finding out whether it can merge, or somebody merged into the base meanwhile.
  if (/try again later|push out of date/i.test(said)) {
    return new ForgeError({ kind: "unavailable", message: `Gitea could not merge just now: ${said}` })
  }
  return status === 404
    ? absent
    : new ForgeError({ kind: "not_mergeable", message: `Gitea does not merge it: ${said}` })
}

const absent = new ForgeError({
  kind: "not_found",
  message: "Gitea has no such repository, branch or pull request, or the token may not see it: check all three."
})

const declined = ({ said, status }: Refusal): Effect.Effect<never, ForgeError> =>
  Effect.fail(
    status === 404 ? absent : new ForgeError({ kind: "rejected", message: `Gitea declines the request: ${said}` })
  )
