import { Effect, Schema } from "effect"
import { WebPage } from "./ForeignParts.js"
import {
  type Ask,
  decodeAnswer,
  type Forge,
  type ForgeError,
  type ForgeKind,
  type Refusal,
  refusedBy
} from "./Forge.js"
import type { RemoteMergeRequest } from "./ForgeCalls.js"
import { gitLabHooks } from "./ForgeHooks.js"
import { absentFromGitLab, gitLabMerge } from "./GitLabMerge.js"
import { loadedActs } from "./LoadedActs.js"
import { privateEmailOf } from "./PrivateEmail.js"

const MergeRequest = Schema.Struct({
  /** The number within the project, which people see. `id` is a different number. */
  iid: Schema.Int,
  web_url: WebPage,
  state: Schema.Literal("opened", "closed", "locked", "merged"),
  draft: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  description: Schema.NullOr(Schema.String),
  sha: Schema.NullOr(Schema.String),
  source_project_id: Schema.NullOr(Schema.Int),
  target_project_id: Schema.Int,
  target_branch: Schema.optional(Schema.String)
})

/** `locked` means that it is being merged. */
const states = { opened: "open", locked: "open", closed: "closed", merged: "merged" } as const

const toRemote = (request: typeof MergeRequest.Type): RemoteMergeRequest => ({
  number: request.iid,
  webUrl: request.web_url,
  state: states[request.state],
  draft: request.draft,
  description: request.description ?? "",
  headSha: request.sha ?? "",
  ...(request.target_branch !== undefined && { baseBranch: request.target_branch }),
  isFork: request.source_project_id !== request.target_project_id
})

const ruleReads = Effect.promise(() => import("./RuleReads.js"))

const open = (call: Ask, repository: string): Forge => {
  const project = `/projects/${encodeURIComponent(repository)}`
  const requests = `${project}/merge_requests`
  return {
    find: ({ base, head }) => {
      const query = new URLSearchParams({ state: "opened", source_branch: head, target_branch: base })
      return call({ method: "GET", path: `${requests}?${query}` }).pipe(
        Effect.catchTag("Refusal", declined),
        Effect.flatMap(decodeAnswer(Schema.Array(MergeRequest))),
        Effect.map((found) => {
          // A fork may have a branch of the same name.
          const own = found.find((request) => request.source_project_id === request.target_project_id)
          return own === undefined ? undefined : toRemote(own)
        })
      )
    },
    create: ({ base, description, draft, head, title }) =>
      call({
        method: "POST",
        path: requests,
        body: { source_branch: head, target_branch: base, title: draft ? `Draft: ${title}` : title, description }
      }).pipe(Effect.catchTag("Refusal", declined), Effect.flatMap(decodeAnswer(MergeRequest)), Effect.map(toRemote)),
    get: (number) =>
      call({ method: "GET", path: `${requests}/${number}` }).pipe(
        Effect.catchTag("Refusal", declined),
        Effect.flatMap(decodeAnswer(MergeRequest)),
        Effect.map(toRemote)
      ),
    view: (number, memory) =>
      Effect.flatMap(
        Effect.promise(() => import("./GitLabView.js")),
        ({ gitLabView }) => {
          const standing = (answer: unknown) => Effect.map(decodeAnswer(MergeRequest)(answer), toRemote)
          return gitLabView(call, repository, standing)(number, memory)
        }
      ),
    ...loadedActs(() => import("./GitLabActs.js").then(({ gitLabActs }) => gitLabActs(call, repository))),
    rules: () => Effect.flatMap(ruleReads, ({ gitLabRules }) => gitLabRules(call, project)),
    access: (login) => Effect.flatMap(ruleReads, ({ memberAccessOf }) => memberAccessOf(call, project)(login)),
    removeBranch: (branch, head) =>
      Effect.flatMap(ruleReads, ({ branchRemoval }) => {
        const path = (name: string) => `${project}/repository/branches/${encodeURIComponent(name)}`
        return branchRemoval(call, { read: path, remove: path })(branch, head)
      }),
    merge: (number, { expectedHead, method }) =>
      gitLabMerge(call, `${requests}/${number}`, { sha: expectedHead, squash: method === "squash" })
  }
}

const declined = (refusal: Refusal): Effect.Effect<never, ForgeError> =>
  Effect.fail(refusal.status === 404 ? absentFromGitLab : refusedBy("GitLab", refusal))

/** GitLab, with merge requests of a project `group/.../name`. */
export const gitLab: ForgeKind = {
  kind: "gitlab",
  defaultUrl: "https://gitlab.com",
  apiPath: "/api/v4",
  // GitLab rebases by the settings of the project only.
  can: new Set(["rerun", "readiness"]),
  mergeMethods: new Set(["merge", "squash"]),
  nestsGroups: true,
  // GitLab takes personal, project and OAuth tokens as bearers.
  headers: (token) => ({ authorization: `Bearer ${token}` }),
  privateEmail: ({ id, username }, host) => privateEmailOf(id, "-", username, host),
  userPath: "/user",
  openHooks: gitLabHooks,
  loginField: "username",
  refusals: () => import("./ForgeRefusals.js").then(({ gitLabRefusals }) => gitLabRefusals),
  open
}
