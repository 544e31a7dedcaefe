import { Effect, Schema } from "effect"
import { WebPage } from "./ForeignParts.js"
import { type Ask, type Branches, decodeAnswer, type Forge, type ForgeError, type ForgeKind } from "./Forge.js"
import type { RemoteMergeRequest } from "./ForgeCalls.js"
import { giteaHooks } from "./ForgeHooks.js"
import { loadedActs } from "./LoadedActs.js"
import { pullRequests } from "./PullRequests.js"

const PullRequest = Schema.Struct({
  number: Schema.Int,
  html_url: WebPage,
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
  headSha: pull.head.sha,
  baseBranch: pull.base.ref,
  isFork: pull.head.repo_id !== pull.base.repo_id
})

const pageSize = 50
const maxPages = 20

const ruleReads = Effect.promise(() => import("./RuleReads.js"))

const open = (call: Ask, repository: string): Forge => {
  const pulls = pullRequests(call, repository, {
    name: "Gitea",
    schema: PullRequest,
    toRemote
  })

  // Not every version filters by branch. The open ones are read instead, with the latest change first.
  const search = (branches: Branches, page: number): Effect.Effect<RemoteMergeRequest | undefined, ForgeError> =>
    Effect.flatMap(
      pulls.list({ state: "open", sort: "recentupdate", limit: String(pageSize), page: String(page) }),
      (found) => {
        const own = found.find((pull) => isOf(branches, pull))
        if (own !== undefined) return Effect.succeed(toRemote(own))
        return found.length === 0 || page === maxPages ? Effect.succeed(undefined) : search(branches, page + 1)
      }
    )

  return {
    find: (branches) => search(branches, 1),
    create: ({ base, description, draft, head, title }) =>
      pulls.create({ title: draft ? `WIP: ${title}` : title, head, base, body: description }),
    get: pulls.get,
    view: (number, memory) =>
      Effect.flatMap(
        Effect.promise(() => import("./GiteaView.js")),
        ({ giteaView }) => {
          const standing = (answer: unknown) => Effect.map(decodeAnswer(PullRequest)(answer), toRemote)
          return giteaView(call, repository, standing)(number, memory)
        }
      ),
    ...loadedActs(() => import("./GiteaActs.js").then(({ giteaActs }) => giteaActs(call, repository))),
    rules: (base) => Effect.flatMap(ruleReads, ({ giteaRules }) => giteaRules(call, repository)(base)),
    access: (login) => Effect.flatMap(ruleReads, ({ permissionOf }) => permissionOf(call, repository)(login)),
    removeBranch: (branch, head) =>
      Effect.flatMap(ruleReads, ({ branchRemoval }) => {
        const path = (name: string) => `/repos/${repository}/branches/${encodeURIComponent(name)}`
        return branchRemoval(call, { read: path, remove: path })(branch, head)
      }),
    merge: (number, { expectedHead, method }) =>
      pulls.merge(number, "POST", { Do: method, head_commit_id: expectedHead })
  }
}

const isOf = ({ base, head }: Branches, pull: PullRequest): boolean =>
  pull.head.ref === head && pull.base.ref === base && pull.head.repo_id === pull.base.repo_id

/** Gitea and Forgejo, with pull requests of a repository `owner/name`. */
export const gitea: ForgeKind = {
  kind: "gitea",
  defaultUrl: "https://gitea.com",
  apiPath: "/api/v1",
  can: new Set(["readiness"]),
  mergeMethods: new Set(["merge", "squash", "rebase"]),
  nestsGroups: false,
  headers: (token) => ({ authorization: `token ${token}` }),
  userPath: "/user",
  openHooks: giteaHooks,
  loginField: "login",
  refusals: () => import("./ForgeRefusals.js").then(({ giteaRefusals }) => giteaRefusals),
  open
}
