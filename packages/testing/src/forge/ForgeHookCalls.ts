import { createHmac, randomUUID } from "node:crypto"
import http from "node:http"
import type { HeldHook } from "./ForgeHookList.js"
import type { Pull } from "./ForgeServer.js"
import type { HeldCheck } from "./ForgeStanding.js"

/** A thing that has happened on the forge, of which it tells its hooks. */
export type ForgeNews =
  | { readonly what: "push"; readonly branch: string; readonly sha: string; readonly before: string }
  | { readonly what: "check"; readonly check: HeldCheck }
  | { readonly what: "merge_request"; readonly pull: Pull; readonly sha: string }
  | { readonly what: "comment"; readonly pull: Pull; readonly author: string }
  | { readonly what: "review"; readonly pull: Pull; readonly author: string }

/** A call of a hook as the forge sends it: the name of its event, and the body. */
export interface HookCallBody {
  readonly event: string
  readonly body: object
}

/** The way in which one product calls hooks. */
export interface HookDialect {
  readonly secretOf: (hook: HeldHook) => string
  /** True for a hook that was made for such an event. */
  readonly wants: (hook: HeldHook, news: ForgeNews, event: string) => boolean
  readonly bodyOf: (repository: string, news: ForgeNews) => HookCallBody
  readonly headers: (event: string, id: string, secret: string, body: string) => Readonly<Record<string, string>>
}

const sign = (secret: string, body: string): string => createHmac("sha256", secret).update(body).digest("hex")

const configured = ({ body }: HeldHook, name: string): string => {
  const { config } = body
  const value = typeof config === "object" && config !== null ? Reflect.get(config, name) : undefined
  return typeof value === "string" ? value : ""
}

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const wantsEvent: HookDialect["wants"] = ({ body }, _news, event) => {
  const { events } = body
  return Array.isArray(events) && events.includes(event)
}

const conclusions = {
  passed: "success",
  failed: "failure",
  cancelled: "cancelled",
  skipped: "skipped",
  waiting: "action_required",
  pending: null
}

const github: HookDialect = {
  secretOf: (hook) => configured(hook, "secret"),
  wants: wantsEvent,
  headers: (event, id, secret, body) => ({
    "x-github-event": event,
    "x-github-delivery": id,
    "x-hub-signature-256": `sha256=${sign(secret, body)}`
  }),
  bodyOf: (full_name, news) => {
    const repository = { id: 77, full_name }
    if (news.what === "push")
      return {
        event: "push",
        body: { ref: `refs/heads/${news.branch}`, before: news.before, after: news.sha, repository }
      }
    if (news.what === "merge_request") {
      const { number, state } = news.pull
      const pull_request = { number, state: state === "open" ? "open" : "closed", head: { sha: news.sha } }
      return { event: "pull_request", body: { action: "synchronize", number, pull_request, repository } }
    }
    if (news.what === "comment" || news.what === "review") {
      const about = { pull_request: { number: news.pull.number }, sender: { login: news.author }, repository }
      return news.what === "comment"
        ? { event: "pull_request_review_comment", body: { action: "created", ...about } }
        : { event: "pull_request_review", body: { action: "submitted", ...about } }
    }
    const { head, id, name, state, system } = news.check
    if (system === "status")
      return { event: "status", body: { sha: head, context: name, state: conclusions[state] ?? "pending", repository } }
    const status = state === "pending" ? "in_progress" : "completed"
    const check_run = { id, name, head_sha: head, status, conclusion: conclusions[state], pull_requests: [] }
    return {
      event: "check_run",
      body: { action: state === "pending" ? "created" : "completed", check_run, repository }
    }
  }
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
  headers: (event, id, secret) => ({ "x-gitlab-event": event, "x-gitlab-event-uuid": id, "x-gitlab-token": secret }),
  bodyOf: (path_with_namespace, news) => {
    const project = { id: 3, path_with_namespace }
    if (news.what === "push")
      return {
        event: "Push Hook",
        body: { object_kind: "push", ref: `refs/heads/${news.branch}`, before: news.before, after: news.sha, project }
      }
    if (news.what === "merge_request")
      return {
        event: "Merge Request Hook",
        body: {
          object_kind: "merge_request",
          project,
          object_attributes: { iid: news.pull.number, action: "update", last_commit: { id: news.sha } }
        }
      }
    if (news.what === "comment" || news.what === "review") {
      const { number: iid } = news.pull
      const user = { username: news.author }
      return news.what === "comment"
        ? { event: "Note Hook", body: { object_kind: "note", user, project, merge_request: { iid } } }
        : {
            event: "Merge Request Hook",
            body: { object_kind: "merge_request", user, project, object_attributes: { iid, action: "approved" } }
          }
    }
    const { head, id, name, state } = news.check
    const status = {
      pending: "running",
      passed: "success",
      failed: "failed",
      cancelled: "canceled",
      skipped: "skipped",
      waiting: "manual"
    }
    return {
      event: "Job Hook",
      body: { object_kind: "build", build_id: id, build_name: name, sha: head, build_status: status[state], project }
    }
  }
}

const gitea: HookDialect = {
  secretOf: (hook) => configured(hook, "secret"),
  wants: wantsEvent,
  headers: (event, id, secret, body) => ({
    "x-gitea-event": event,
    "x-gitea-delivery": id,
    "x-gitea-signature": sign(secret, body)
  }),
  bodyOf: (full_name, news) => {
    const repository = { id: 5, full_name }
    if (news.what === "push")
      return {
        event: "push",
        body: { ref: `refs/heads/${news.branch}`, before: news.before, after: news.sha, repository }
      }
    if (news.what === "merge_request") {
      const { number } = news.pull
      const pull_request = { number, head: { sha: news.sha } }
      return { event: "pull_request_sync", body: { action: "synchronized", number, pull_request, repository } }
    }
    if (news.what === "comment" || news.what === "review") {
      const about = { pull_request: { number: news.pull.number }, sender: { login: news.author }, repository }
      return news.what === "comment"
        ? { event: "pull_request_comment", body: { action: "created", ...about } }
        : { event: "pull_request_review", body: { action: "reviewed", ...about } }
    }
    const { head, name, state } = news.check
    return { event: "status", body: { sha: head, context: name, state: conclusions[state] ?? "pending", repository } }
  }
}

/** The ways in which forges call hooks, by their kind. */
export const hookDialects = { github, gitlab, gitea } as const

/** Calls the address of a hook, with the same id as often as it is said, and gives each status; 0 for a call without an answer. */
export const callHook = (
  dialect: HookDialect,
  hook: HeldHook,
  { body, event }: HookCallBody,
  times: number
): Promise<ReadonlyArray<number>> => {
  const id = randomUUID()
  const raw = JSON.stringify(body)
  const headers = {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(raw)),
    ...dialect.headers(event, id, dialect.secretOf(hook), raw)
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
    request.end(body)
  })
