import { Effect, Schema } from "effect"
import {
  type Ask,
  decodeAnswer,
  ForgeError,
  type ForgeHook,
  type ForgeHooks,
  type HookOccasion,
  type Refusal,
  refusedWith
} from "./Forge.js"

/** The differences between forges. */
interface Dialect {
  /** The name of the product, for messages. */
  readonly name: string
  /** The path of the hooks of a repository. */
  readonly path: (repository: string) => string
  /** The query of a page of 50 hooks. */
  readonly page: (page: number) => string
  readonly change: "PATCH" | "PUT"
  readonly body: (hook: ForgeHook) => Readonly<Record<string, unknown>>
}

const Listed = Schema.Array(
  Schema.Struct({
    id: Schema.Int,
    url: Schema.optional(Schema.NullOr(Schema.String)),
    config: Schema.optional(Schema.Struct({ url: Schema.optional(Schema.String) }))
  })
)

const Made = Schema.Struct({ id: Schema.Int })

const pageSize = 50
const maxPages = 20

const hooksOf =
  ({ body, change, name, page, path }: Dialect) =>
  (ask: Ask, repository: string): ForgeHooks => {
    const root = path(repository)
    const declined = (refusal: Refusal) => Effect.fail(refusalOf(name, refusal))
    const search = (url: string, number: number): Effect.Effect<string | undefined, ForgeError> =>
      ask({ method: "GET", path: `${root}?${page(number)}` }).pipe(
        Effect.catchTag("Refusal", declined),
        Effect.flatMap(decodeAnswer(Listed)),
        Effect.flatMap((found) => {
          // GitHub's own `url` is that of the hook in its API.
          const own = found.find((hook) => (hook.config?.url ?? hook.url) === url)
          if (own !== undefined) return Effect.succeed(String(own.id))
          return found.length < pageSize || number === maxPages ? Effect.succeed(undefined) : search(url, number + 1)
        })
      )
    return {
      find: (url) => search(url, 1),
      create: (hook) =>
        ask({ method: "POST", path: root, body: body(hook) }).pipe(
          Effect.catchTag("Refusal", declined),
          Effect.flatMap(decodeAnswer(Made)),
          Effect.map(({ id }) => String(id))
        ),
      update: (id, hook) =>
        ask({ method: change, path: `${root}/${id}`, body: body(hook) }).pipe(
          Effect.catchTag("Refusal", declined),
          Effect.asVoid
        ),
      remove: (id) =>
        ask({ method: "DELETE", path: `${root}/${id}` }).pipe(
          Effect.catchTag("Refusal", (refusal) => (refusal.status === 404 ? Effect.void : declined(refusal))),
          Effect.asVoid
        )
    }
  }

const refusalOf = (name: string, refusal: Refusal): ForgeError =>
  refusal.status === 404
    ? new ForgeError({
        kind: "not_found",
        message: `${name} has no such repository, or the token may not manage its webhooks: check both.`
      })
    : new ForgeError({ kind: "rejected", message: `${name} declines the webhook (${refusedWith(refusal)})` })

const gitHubEvents = {
  push: ["push"],
  issues: ["issues"],
  comments: ["issue_comment", "pull_request_review_comment"],
  merge_requests: ["pull_request", "pull_request_review", "pull_request_review_thread"],
  checks: ["check_run", "check_suite", "status"]
} as const satisfies Record<HookOccasion, ReadonlyArray<string>>

/** The webhooks of a repository on GitHub. The token needs the permission for webhooks, or the scope `admin:repo_hook`. */
export const gitHubHooks = hooksOf({
  name: "GitHub",
  path: (repository) => `/repos/${repository}/hooks`,
  page: (page) => `per_page=${pageSize}&page=${page}`,
  change: "PATCH",
  body: ({ occasions, secret, url }) => ({
    name: "web",
    active: true,
    events: occasions.flatMap((each) => gitHubEvents[each]),
    config: { url, secret, content_type: "json", insecure_ssl: "0" }
  })
})

/** The webhooks of a project on GitLab. The token needs the scope `api` and the role of a maintainer. */
export const gitLabHooks = hooksOf({
  name: "GitLab",
  path: (repository) => `/projects/${encodeURIComponent(repository)}/hooks`,
  page: (page) => `per_page=${pageSize}&page=${page}`,
  change: "PUT",
  body: ({ occasions, secret, url }) => ({
    url,
    token: secret,
    enable_ssl_verification: true,
    push_events: occasions.includes("push"),
    issues_events: occasions.includes("issues"),
    note_events: occasions.includes("comments"),
    merge_requests_events: occasions.includes("merge_requests"),
    pipeline_events: occasions.includes("checks"),
    job_events: occasions.includes("checks")
  })
})

const giteaEvents = {
  push: ["push"],
  issues: ["issues", "issue_label"],
  comments: ["issue_comment", "pull_request_comment"],
  merge_requests: ["pull_request", "pull_request_sync", "pull_request_review"],
  checks: ["status"]
} as const satisfies Record<HookOccasion, ReadonlyArray<string>>

/** The webhooks of a repository on Gitea and Forgejo. The token needs the scope `write:repository` and the rights of an administrator. */
export const giteaHooks = hooksOf({
  name: "Gitea",
  path: (repository) => `/repos/${repository}/hooks`,
  page: (page) => `limit=${pageSize}&page=${page}`,
  change: "PATCH",
  body: ({ occasions, secret, url }) => ({
    type: "gitea",
    active: true,
    events: occasions.flatMap((each) => giteaEvents[each]),
    config: { url, secret, content_type: "json" }
  })
})
