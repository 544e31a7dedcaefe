import { createHmac, randomUUID } from "node:crypto"
import http from "node:http"
import type { KnownForge } from "./ForgeDialects.js"
import type { HeldHook } from "./ForgeHookList.js"
import type { Pull } from "./ForgeServer.js"
import type { HeldCheck } from "./ForgeStanding.js"
import { giteaUser, giteaWord } from "./GiteaStanding.js"
import { checkRunOf, statusWord } from "./GitHubStanding.js"
import { gitlabUser, gitlabWord } from "./GitLabStanding.js"
import { recordedHook } from "./Recorded.js"

/** A thing that has happened on the forge, of which it tells its hooks. */
export type ForgeNews =
  | { readonly what: "push"; readonly branch: string; readonly sha: string; readonly before: string }
  | { readonly what: "check"; readonly check: HeldCheck }
  | { readonly what: "merge_request"; readonly pull: Pull; readonly sha: string }
  | { readonly what: "comment"; readonly pull: Pull; readonly author: string }
  | { readonly what: "review"; readonly pull: Pull; readonly author: string }

/** A call of a hook as the forge sends it: the name of its event, and the body. Gitea has a finer name besides. */
export interface HookCallBody {
  readonly event: string
  readonly type?: string
  readonly body: object
}

interface Sent {
  readonly id: string
  readonly hook: number
  readonly secret: string
  readonly body: string
}

/** The way in which one product calls hooks. */
export interface HookDialect {
  readonly secretOf: (hook: HeldHook) => string
  /** True for a hook that was made for such an event. */
  readonly wants: (hook: HeldHook, news: ForgeNews, call: HookCallBody) => boolean
  readonly bodyOf: (repository: string, news: ForgeNews) => HookCallBody
  readonly headers: (
    named: { readonly event: string; readonly type: string },
    sent: Sent
  ) => Readonly<Record<string, string>>
}

const sign = (secret: string, body: string, digest = "sha256"): string =>
  createHmac(digest, secret).update(body).digest("hex")

const configured = ({ body }: HeldHook, name: string): string => {
  const { config } = body
  const value = typeof config === "object" && config !== null ? Reflect.get(config, name) : undefined
  return typeof value === "string" ? value : ""
}

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const namesAny = ({ body }: HeldHook, names: ReadonlyArray<string>): boolean => {
  const { events } = body
  return Array.isArray(events) && names.some((name) => events.includes(name))
}

type Parts = Readonly<Record<string, unknown>>

const hookOf = (forge: KnownForge) => (name: string, parts: Parts) => recordedHook(forge, name, parts)

const githubHook = hookOf("github")
const gitlabHook = hookOf("gitlab")
const giteaHook = hookOf("gitea")

const github: HookDialect = {
  secretOf: (hook) => configured(hook, "secret"),
  wants: (hook, _news, { event }) => namesAny(hook, [event]),
  headers: ({ event }, { body, hook, id, secret }) => ({
    accept: "*/*",
    "user-agent": "GitHub-Hookshot/044aadd",
    "x-github-delivery": id,
    "x-github-event": event,
    "x-github-hook-id": String(hook),
    "x-github-hook-installation-target-id": "77",
    "x-github-hook-installation-target-type": "repository",
    "x-hub-signature": `sha1=${sign(secret, body, "sha1")}`,
    "x-hub-signature-256": `sha256=${sign(secret, body)}`
  }),
  bodyOf: (full_name, news) => {
    const [login = "", name = ""] = full_name.split("/")
    const repository = { id: 77, name, full_name, owner: { login } }
    if (news.what === "push") {
      const { before, branch, sha: after } = news
      return githubHook("push", { ref: `refs/heads/${branch}`, before, after, repository })
    }
    if (news.what === "check") return githubCheck(news.check, repository)
    const { head: ref, number } = news.pull
    if (news.what === "merge_request") {
      const state = news.pull.state === "open" ? "open" : "closed"
      const pull_request = { number, state, head: { ref, sha: news.sha } }
      return githubHook("pull_request.synchronize", { number, after: news.sha, pull_request, repository })
    }
    const about = { pull_request: { number, head: { ref } }, sender: { login: news.author }, repository }
    return news.what === "comment"
      ? githubHook("pull_request_review_comment.created", { ...about, comment: { user: { login: news.author } } })
      : githubHook("pull_request_review.submitted", { ...about, review: { user: { login: news.author } } })
  }
}

const githubCheck = (check: HeldCheck, repository: Parts): HookCallBody => {
  const { head: sha, name: context, state, system } = check
  if (system === "status")
    return githubHook("status", { sha, context, state: statusWord(check), commit: { sha }, repository })
  const name = state === "pending" ? "check_run.created" : "check_run.completed"
  return githubHook(name, { check_run: checkRunOf(check), repository })
}

/** The switch of a hook of GitLab for each kind of news. */
const occasions = {
  push: "push_events",
  check: "job_events",
  comment: "note_events",
  review: "merge_requests_events",
  merge_request: "merge_requests_events"
} as const

const gitlab: HookDialect = {
  secretOf: ({ body }) => text(body["token"]),
  wants: ({ body }, { what }) => body[occasions[what]] === true,
  headers: ({ event }, { id, secret }) => ({
    "user-agent": "GitLab/17.6.0",
    "idempotency-key": id,
    "x-gitlab-event": event,
    "x-gitlab-event-uuid": randomUUID(),
    "x-gitlab-instance": "https://gitlab.example",
    "x-gitlab-token": secret,
    "x-gitlab-webhook-uuid": randomUUID()
  }),
  bodyOf: (path_with_namespace, news) => {
    const homepage = `https://gitlab.example/${path_with_namespace}`
    const project = { id: 3, path_with_namespace, web_url: homepage, homepage }
    const repository = { homepage }
    if (news.what === "push") {
      const { before, branch, sha: after } = news
      return gitlabHook("push", {
        ref: `refs/heads/${branch}`,
        before,
        after,
        checkout_sha: after,
        project,
        repository
      })
    }
    if (news.what === "check") {
      const { head: sha, id: build_id, name: build_name } = news.check
      const build_status = gitlabWord(news.check)
      // A body about a job names no project, but the page of its repository.
      return gitlabHook("build.success", { build_id, build_name, sha, build_status, project_id: 3, repository })
    }
    const { number: iid } = news.pull
    if (news.what === "merge_request") {
      const object_attributes = { iid, action: "update", last_commit: { id: news.sha } }
      return gitlabHook("merge_request", { project, repository, object_attributes })
    }
    const user = gitlabUser(news.author)
    return news.what === "comment"
      ? gitlabHook("note.merge_request", { user, project, repository, merge_request: { iid } })
      : gitlabHook("merge_request", { user, project, repository, object_attributes: { iid, action: "approved" } })
  }
}

/** The finer names that a hook of Gitea may be made for instead. A review is asked for by one name. */
const groups: Readonly<Record<string, ReadonlyArray<string>>> = {
  pull_request_sync: ["pull_request"],
  pull_request_comment: ["pull_request"],
  pull_request_review_approved: ["pull_request", "pull_request_review"]
}

const gitea: HookDialect = {
  secretOf: (hook) => configured(hook, "secret"),
  wants: (hook, _news, { event, type = event }) => namesAny(hook, [type, ...(groups[type] ?? [])]),
  headers: ({ event, type }, { body, id, secret }) => ({
    "user-agent": "Go-http-client/1.1",
    // Gitea says each thing in the words of others too.
    ...Object.fromEntries(
      ["gitea", "gogs", "github"].flatMap((product) => [
        [`x-${product}-delivery`, id],
        [`x-${product}-event`, event],
        [`x-${product}-event-type`, type]
      ])
    ),
    "x-gitea-signature": sign(secret, body),
    "x-gogs-signature": sign(secret, body),
    "x-hub-signature": `sha1=${sign(secret, body, "sha1")}`,
    "x-hub-signature-256": `sha256=${sign(secret, body)}`
  }),
  bodyOf: (full_name, news) => {
    const [login = "", name = ""] = full_name.split("/")
    const repository = { id: 5, name, full_name, owner: { login, username: login } }
    if (news.what === "push") {
      const { before, branch, sha: after } = news
      return giteaHook("push", { ref: `refs/heads/${branch}`, before, after, repository })
    }
    if (news.what === "check") return giteaStatus(news.check, repository)
    const { head: ref, number } = news.pull
    if (news.what === "merge_request") {
      const pull_request = { number, head: { ref, sha: news.sha } }
      const call = giteaHook("pull_request.synchronized", { number, pull_request, repository })
      return { ...call, type: "pull_request_sync" }
    }
    const sender = giteaUser(news.author)
    if (news.what === "comment") {
      const call = giteaHook("pull_request_comment.created", { issue: { number }, is_pull: true, sender, repository })
      return { ...call, type: "pull_request_comment" }
    }
    const call = giteaHook("pull_request_approved.reviewed", { number, pull_request: { number }, sender, repository })
    return { ...call, type: "pull_request_review_approved" }
  }
}

/** Nobody has published a body of this event. Its fields are those of the push and of a status. */
const giteaStatus = (check: HeldCheck, repository: Parts): HookCallBody => {
  const { head: sha, id, name: context, startedAt } = check
  const { body: pushed } = giteaHook("push", { head_commit: { id: sha }, repository })
  const body = {
    commit: pushed["head_commit"],
    context,
    created_at: startedAt,
    description: "",
    id,
    repository: pushed["repository"],
    sender: pushed["sender"],
    sha,
    state: giteaWord(check),
    target_url: `https://gitea.example/actions/runs/1/jobs/${id}`,
    updated_at: startedAt
  }
  return { event: "status", body }
}

/** The ways in which forges call hooks, by their kind. */
export const hookDialects = { github, gitlab, gitea } as const

/** Calls the address of a hook, with the same id as often as it is said, and gives each status; 0 for a call without an answer. */
export const callHook = (
  dialect: HookDialect,
  hook: HeldHook,
  { body, event, type = event }: HookCallBody,
  times: number
): Promise<ReadonlyArray<number>> => {
  const id = randomUUID()
  const raw = JSON.stringify(body)
  const headers = {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(raw)),
    ...dialect.headers({ event, type }, { id, hook: hook.id, secret: dialect.secretOf(hook), body: raw })
  }
  const url = configured(hook, "url") || text(hook.body["url"])
  return Promise.all(Array.from({ length: times }, () => post(url, headers, raw)))
}

const post = (url: string, headers: Readonly<Record<string, string>>, body: string): Promise<number> =>
  new Promise((resolve) => {
    const request = http.request(url, { method: "POST", headers }, (response) => {
      response.resume()
      response.once("end", () => resolve(response.statusCode ?? 0))
    })
    request.once("error", () => resolve(0))
    // A body of this size comes in pieces.
    const half = Buffer.from(body)
    request.write(half.subarray(0, half.length / 2))
    setImmediate(() => request.end(half.subarray(half.length / 2)))
  })
