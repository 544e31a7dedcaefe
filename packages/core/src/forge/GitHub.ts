import { Effect, Schema } from "effect"
import { type Forge, ForgeError, type RemoteMergeRequest } from "./Forge.js"
import { type Ask, ask, type ForgeAccess, type Refusal, understood } from "./ForgeRequest.js"

const PullRequest = Schema.Struct({
  number: Schema.Int,
  html_url: Schema.String,
  state: Schema.Literal("open", "closed"),
  merged_at: Schema.NullOr(Schema.String),
  draft: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  body: Schema.NullOr(Schema.String),
  head: Schema.Struct({ sha: Schema.String })
})

const toRemote = (pull: typeof PullRequest.Type): RemoteMergeRequest => ({
  number: pull.number,
  webUrl: pull.html_url,
  state: pull.merged_at !== null ? "merged" : pull.state,
  draft: pull.draft,
  description: pull.body ?? "",
  headSha: pull.head.sha
})

/** Pull requests of a repository `owner/name` on GitHub or GitHub Enterprise. */
export const make = (access: Omit<ForgeAccess, "headers">, repository: string): Forge => {
  const call: Ask = ask({
    ...access,
    headers: (token) => ({
      accept: "application/vnd.github+json",
      authorization: `Bearer ${token}`,
      "x-github-api-version": "2022-11-28"
    })
  })
  const [owner = ""] = repository.split("/")
  const pulls = `/repos/${repository}/pulls`
  return {
    kind: "github",
    find: ({ base, head }) => {
      const query = new URLSearchParams({ state: "open", head: `${owner}:${head}`, base })
      return call({ method: "GET", path: `${pulls}?${query}` }).pipe(
        Effect.catchTag("Refusal", declined),
        Effect.flatMap(understood(Schema.Array(PullRequest))),
        Effect.map(([first]) => (first === undefined ? undefined : toRemote(first)))
      )
    },
    create: ({ base, description, draft, head, title }) =>
      call({ method: "POST", path: pulls, body: { title, head, base, body: description, draft } }).pipe(
        Effect.catchTag("Refusal", (refusal) =>
          refusal.status === 422 && /already exists/i.test(refusal.said)
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
        method: "PUT",
        path: `${pulls}/${number}/merge`,
        body: { sha: expectedHead, merge_method: method }
      }).pipe(
        Effect.catchTag("Refusal", (refusal) => Effect.fail(notMerged(refusal))),
        Effect.asVoid
      )
  }
}

const notMerged = ({ said, status }: Refusal): ForgeError => {
  if (status === 409) return new ForgeError({ kind: "remote_head_changed", message: `GitHub: ${said}` })
  // The base moved between GitHub's own check and its merge.
  if (/base branch was modified/i.test(said)) {
    return new ForgeError({ kind: "unavailable", message: `GitHub could not merge just now: ${said}` })
  }
  return status === 404
    ? absent
    : new ForgeError({ kind: "not_mergeable", message: `GitHub does not merge it: ${said}` })
}

const absent = new ForgeError({
  kind: "not_found",
  message: "GitHub has no such repository or pull request, or the token may not see it: check both."
})

const declined = ({ said, status }: Refusal): Effect.Effect<never, ForgeError> =>
  Effect.fail(
    status === 404 ? absent : new ForgeError({ kind: "rejected", message: `GitHub declines the request: ${said}` })
  )
