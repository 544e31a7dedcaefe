import { Effect, Schema } from "effect"
import { WebPage } from "./ForeignParts.js"
import { type Ask, decodeAnswer, type Forge, type ForgeKind } from "./Forge.js"
import type { RemoteMergeRequest } from "./ForgeCalls.js"
import { gitHubHooks } from "./ForgeHooks.js"
import { loadedActs } from "./LoadedActs.js"
import { privateEmailOf } from "./PrivateEmail.js"
import { pullRequests } from "./PullRequests.js"

/** Null when the repository was deleted. */
const Repository = Schema.optional(Schema.NullOr(Schema.Struct({ id: Schema.Int })))

const PullRequest = Schema.Struct({
  number: Schema.Int,
  html_url: WebPage,
  state: Schema.Literal("open", "closed"),
  merged_at: Schema.NullOr(Schema.String),
  draft: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  body: Schema.NullOr(Schema.String),
  head: Schema.Struct({ sha: Schema.String, repo: Repository }),
  base: Schema.optional(Schema.Struct({ ref: Schema.optional(Schema.String), repo: Repository }))
})

const toRemote = (pull: typeof PullRequest.Type): RemoteMergeRequest => ({
  number: pull.number,
  webUrl: pull.html_url,
  state: pull.merged_at !== null ? "merged" : pull.state,
  draft: pull.draft,
  description: pull.body ?? "",
  headSha: pull.head.sha,
  ...(pull.base?.ref !== undefined && { baseBranch: pull.base.ref }),
  ...(pull.head.repo !== undefined && { isFork: pull.head.repo?.id !== pull.base?.repo?.id })
})

const branchPaths = (repository: string) => ({
  read: (branch: string) => `/repos/${repository}/branches/${encodeURIComponent(branch)}`,
  // A ref is given by its folders.
  remove: (branch: string) =>
    `/repos/${repository}/git/refs/heads/${branch.split("/").map(encodeURIComponent).join("/")}`
})

const ruleReads = Effect.promise(() => import("./RuleReads.js"))

const open = (call: Ask, repository: string): Forge => {
  let [owner = ""] = repository.split("/")
  const pulls = pullRequests(call, repository, {
    name: "GitHub",
    schema: PullRequest,
    toRemote,
    // A repository that was transferred has another owner than its URL, and branches are asked for by it.
    doubled: ({ said }) => {
      owner = /already exists for ([\w.-]+):/i.exec(said)?.[1] ?? owner
    }
  })
  return {
    find: ({ base, head }) =>
      Effect.map(pulls.list({ state: "open", head: `${owner}:${head}`, base }), ([first]) =>
        first === undefined ? undefined : toRemote(first)
      ),
    create: ({ base, description, draft, head, title }) =>
      pulls.create({ title, head, base, body: description, draft }),
    get: pulls.get,
    view: (number, memory) =>
      Effect.flatMap(
        Effect.promise(() => import("./GitHubView.js")),
        ({ gitHubView }) => {
          const standing = (answer: unknown) => Effect.map(decodeAnswer(PullRequest)(answer), toRemote)
          return gitHubView(call, repository, standing)(number, memory)
        }
      ),
    ...loadedActs(() => import("./GitHubActs.js").then(({ gitHubActs }) => gitHubActs(call, repository))),
    rules: (base) =>
      Effect.flatMap(
        Effect.promise(() => import("./GitHubRules.js")),
        ({ gitHubRules }) => gitHubRules(call, repository)(base)
      ),
    access: (login) => Effect.flatMap(ruleReads, ({ permissionOf }) => permissionOf(call, repository)(login)),
    removeBranch: (branch, head) =>
      Effect.flatMap(ruleReads, ({ branchRemoval }) => branchRemoval(call, branchPaths(repository))(branch, head)),
    merge: (number, { expectedHead, method }) => pulls.merge(number, "PUT", { sha: expectedHead, merge_method: method })
  }
}

/** GitHub and GitHub Enterprise, with pull requests of a repository `owner/name`. */
export const gitHub: ForgeKind = {
  kind: "github",
  defaultUrl: "https://github.com",
  apiPath: "/api/v3",
  // GitHub's own clouds have their API on a host of its own.
  addressOf: (given) => {
    if (!/^(?:api\.)?(?:github\.com|[\w-]+\.ghe\.com)$/.test(given.hostname)) return undefined
    const web = new URL(given)
    web.pathname = "/"
    web.hostname = web.hostname.replace(/^api\./, "")
    return { web, api: `${web.protocol}//api.${web.host}` }
  },
  can: new Set(["rerun", "readiness"]),
  mergeMethods: new Set(["merge", "squash", "rebase"]),
  nestsGroups: false,
  appKind: "github_app",
  headers: (token) => ({
    accept: "application/vnd.github+json",
    authorization: `Bearer ${token}`,
    "x-github-api-version": "2022-11-28"
  }),
  privateEmail: ({ id, login }, host) => privateEmailOf(id, "+", login, host),
  userPath: "/user",
  openHooks: gitHubHooks,
  loginField: "login",
  refusals: () => import("./ForgeRefusals.js").then(({ gitHubRefusals }) => gitHubRefusals),
  open
}
