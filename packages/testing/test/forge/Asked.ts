import { createPrivateKey, sign } from "node:crypto"
import { createServer } from "node:http"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { appKeys, ForgeApp } from "@reins/testing/forge/ForgeApp"
import { dialects, type KnownForge } from "@reins/testing/forge/ForgeDialects"
import { ForgeServer } from "@reins/testing/forge/ForgeServer"
import { Effect } from "effect"

// Owns the calls that ask the forge of the tests for every recorded operation, in each of its states that a test uses.

const token = "recordings-token"

const repository: Readonly<Record<KnownForge, string>> = {
  github: "acme/shop",
  gitlab: "acme/tools/shop",
  gitea: "acme/shop"
}

/** A call: the operation, the path below the root of the API, and the body. */
type Call = readonly [operation: string, path: string, body?: Readonly<Record<string, unknown>>]

const head = "c".repeat(40)
const hookUrl = "https://reins.example/hooks/in/hok_1"

const tokenWanted = { repositories: ["shop"], permissions: { contents: "write" } }

const ofGitHub = "/repos/{owner}/{repo}"
const github = (root: string): ReadonlyArray<Call> => [
  ["GET /user", "/user"],
  [`GET ${ofGitHub}`, root],
  [`GET ${ofGitHub}`, "/repos/acme/nothing"],
  [`GET ${ofGitHub}/pulls`, `${root}/pulls?state=open`],
  [`GET ${ofGitHub}/pulls`, `${root}/pulls?state=closed`],
  [`POST ${ofGitHub}/pulls`, `${root}/pulls`, { head: "other", base: "main", title: "Mine", body: "" }],
  [`POST ${ofGitHub}/pulls`, `${root}/pulls`, { head: "other", base: "main", title: "Again", body: "" }],
  [`POST ${ofGitHub}/pulls`, `${root}/pulls`, { head: "other", base: "nowhere", title: "Odd", body: "" }],
  [`GET ${ofGitHub}/pulls/{pull_number}`, `${root}/pulls/1`],
  [`GET ${ofGitHub}/pulls/{pull_number}`, `${root}/pulls/99`],
  [`GET ${ofGitHub}/commits/{ref}/check-runs`, `${root}/commits/${head}/check-runs?filter=latest&per_page=1`],
  [`GET ${ofGitHub}/commits/{ref}/check-runs`, `${root}/commits/${head}/check-runs?filter=all`],
  [`GET ${ofGitHub}/commits/{ref}/status`, `${root}/commits/${head}/status`],
  [`GET ${ofGitHub}/actions/runs`, `${root}/actions/runs?head_sha=${head}`],
  [`GET ${ofGitHub}/actions/jobs/{job_id}/logs`, `${root}/actions/jobs/1/logs`],
  [`POST ${ofGitHub}/actions/jobs/{job_id}/rerun`, `${root}/actions/jobs/1/rerun`, {}],
  [`POST ${ofGitHub}/check-runs/{check_run_id}/rerequest`, `${root}/check-runs/1/rerequest`, {}],
  [`GET ${ofGitHub}/check-runs/{check_run_id}/annotations`, `${root}/check-runs/1/annotations`],
  [`GET ${ofGitHub}/pulls/{pull_number}/reviews`, `${root}/pulls/1/reviews`],
  [`GET ${ofGitHub}/pulls/{pull_number}/comments`, `${root}/pulls/1/comments`],
  [
    `POST ${ofGitHub}/pulls/{pull_number}/comments/{comment_id}/replies`,
    `${root}/pulls/1/comments/9/replies`,
    { body: "So." }
  ],
  [
    `POST ${ofGitHub}/pulls/{pull_number}/comments/{comment_id}/replies`,
    `${root}/pulls/1/comments/99/replies`,
    { body: "So." }
  ],
  [`GET ${ofGitHub}/issues/{issue_number}/comments`, `${root}/issues/1/comments`],
  [`POST ${ofGitHub}/issues/{issue_number}/comments`, `${root}/issues/1/comments`, { body: "Talk." }],
  ["POST /graphql", "graphql", { query: "reviewThreads", variables: { number: 1 } }],
  ["GET /app", "app"],
  [`GET ${ofGitHub}/installation`, "installation"],
  ["GET /app/installations/{installation_id}", "app/installations/4711"],
  ["POST /app/installations/{installation_id}/access_tokens", "app/installations/4711/access_tokens", tokenWanted],
  [`GET ${ofGitHub}/branches/{branch}`, `${root}/branches/main`],
  [`GET ${ofGitHub}/branches/{branch}`, `${root}/branches/nowhere`],
  [`GET ${ofGitHub}/branches/{branch}/protection`, `${root}/branches/main/protection`],
  [`GET ${ofGitHub}/rules/branches/{branch}`, `${root}/rules/branches/main`],
  [`GET ${ofGitHub}/rulesets/{ruleset_id}`, `${root}/rulesets/2`],
  [`GET ${ofGitHub}/collaborators/{username}/permission`, `${root}/collaborators/bo/permission`],
  [
    `POST ${ofGitHub}/hooks`,
    `${root}/hooks`,
    { name: "web", active: true, events: ["push"], config: { url: hookUrl, content_type: "json", insecure_ssl: "0" } }
  ],
  [`GET ${ofGitHub}/hooks`, `${root}/hooks`],
  [
    `PATCH ${ofGitHub}/hooks/{hook_id}`,
    `${root}/hooks/71`,
    { active: true, events: ["push"], config: { url: hookUrl, content_type: "json" } }
  ],
  [`DELETE ${ofGitHub}/hooks/{hook_id}`, `${root}/hooks/71`],
  [`DELETE ${ofGitHub}/hooks/{hook_id}`, `${root}/hooks/71`],
  [`PUT ${ofGitHub}/pulls/{pull_number}/merge`, `${root}/pulls/1/merge`, { sha: "f".repeat(40) }],
  [`PUT ${ofGitHub}/pulls/{pull_number}/merge`, `${root}/pulls/1/merge`, { sha: head }],
  [`PUT ${ofGitHub}/pulls/{pull_number}/merge`, `${root}/pulls/1/merge`, { sha: head }],
  [`GET ${ofGitHub}/pulls/{pull_number}`, `${root}/pulls/1`],
  [`DELETE ${ofGitHub}/git/refs/{ref}`, `${root}/git/refs/heads/work`]
]

const ofProject = "/projects/{id}"
const ofRequest = `${ofProject}/merge_requests/{merge_request_iid}`
const gitlab = (root: string): ReadonlyArray<Call> => [
  ["GET /user", "/user"],
  [`GET ${ofProject}`, root],
  [`GET ${ofProject}/merge_requests`, `${root}/merge_requests?state=opened&source_branch=work&target_branch=main`],
  [
    `POST ${ofProject}/merge_requests`,
    `${root}/merge_requests`,
    { source_branch: "other", target_branch: "main", title: "Mine" }
  ],
  [`GET ${ofRequest}`, `${root}/merge_requests/1`],
  [`PUT ${ofRequest}`, `${root}/merge_requests/1`, { title: "Draft: Mine" }],
  [`PUT ${ofRequest}`, `${root}/merge_requests/1`, { title: "Mine" }],
  [`GET ${ofProject}/repository/commits/{sha}/statuses`, `${root}/repository/commits/${head}/statuses`],
  [`GET ${ofProject}/pipelines`, `${root}/pipelines?sha=${head}`],
  [`GET ${ofRequest}/approvals`, `${root}/merge_requests/1/approvals`],
  [`GET ${ofRequest}/reviewers`, `${root}/merge_requests/1/reviewers`],
  [`GET ${ofRequest}/discussions`, `${root}/merge_requests/2/discussions`],
  [`GET ${ofRequest}/discussions with a position`, `${root}/merge_requests/1/discussions?page=2&per_page=1`],
  [
    `POST ${ofRequest}/discussions/{discussion_id}/notes`,
    `${root}/merge_requests/1/discussions/${(9).toString(16).padStart(40, "0")}/notes`,
    { body: "So." }
  ],
  [`GET ${ofRequest}/notes`, `${root}/merge_requests/1/notes?page=1`],
  [`POST ${ofRequest}/notes`, `${root}/merge_requests/1/notes`, { body: "Talk." }],
  [`GET ${ofProject}/repository/branches/{branch}`, `${root}/repository/branches/main`],
  [`GET ${ofProject}/members/all`, `${root}/members/all?query=bo`],
  [`POST ${ofProject}/hooks`, `${root}/hooks`, { url: hookUrl, token: "secret", push_events: true }],
  [`GET ${ofProject}/hooks`, `${root}/hooks`],
  [`GET ${ofRequest}`, `${root}/merge_requests/99`],
  [
    `POST ${ofProject}/merge_requests`,
    `${root}/merge_requests`,
    { source_branch: "other", target_branch: "main", title: "Again" }
  ],
  [
    `POST ${ofProject}/merge_requests`,
    `${root}/merge_requests`,
    { source_branch: "other", target_branch: "nowhere", title: "Odd" }
  ],
  [`PUT ${ofRequest}/merge`, `${root}/merge_requests/1/merge`, { sha: "f".repeat(40) }],
  [`PUT ${ofRequest}/merge`, `${root}/merge_requests/1/merge`, { sha: head }],
  [`PUT ${ofRequest}/merge`, `${root}/merge_requests/1/merge`, { sha: head }]
]

const gitea = (root: string): ReadonlyArray<Call> => [
  ["GET /user", "/user"],
  [`GET ${ofGitHub}`, root],
  [`GET ${ofGitHub}/pulls`, `${root}/pulls?state=open&limit=50&page=1`],
  [`POST ${ofGitHub}/pulls`, `${root}/pulls`, { head: "other", base: "main", title: "Mine", body: "" }],
  [`GET ${ofGitHub}/pulls/{index}`, `${root}/pulls/1`],
  [`PATCH ${ofGitHub}/pulls/{index}`, `${root}/pulls/1`, { title: "Mine" }],
  [`GET ${ofGitHub}/commits/{ref}/statuses`, `${root}/commits/${head}/statuses?limit=50&page=1`],
  [`GET ${ofGitHub}/pulls/{index}/reviews`, `${root}/pulls/1/reviews?limit=1&page=1`],
  [
    `POST ${ofGitHub}/pulls/{index}/reviews`,
    `${root}/pulls/1/reviews`,
    { event: "COMMENT", comments: [{ path: "a.txt", body: "So.", new_position: 1, old_position: 0 }] }
  ],
  [`GET ${ofGitHub}/pulls/{index}/reviews/{id}/comments`, `${root}/pulls/1/reviews/100009/comments`],
  [`GET ${ofGitHub}/issues/{index}/comments`, `${root}/issues/1/comments`],
  [`POST ${ofGitHub}/issues/{index}/comments`, `${root}/issues/1/comments`, { body: "Talk." }],
  [`GET ${ofGitHub}/branches/{branch}`, `${root}/branches/main`],
  [`GET ${ofGitHub}/branch_protections/{name}`, `${root}/branch_protections/main`],
  [`GET ${ofGitHub}/collaborators/{collaborator}/permission`, `${root}/collaborators/bo/permission`],
  [`GET ${ofGitHub}/actions/jobs/{job_id}/logs`, `${root}/actions/jobs/1/logs`],
  [
    `POST ${ofGitHub}/hooks`,
    `${root}/hooks`,
    { type: "gitea", active: true, events: ["push"], config: { url: hookUrl, content_type: "json" } }
  ],
  [`GET ${ofGitHub}/hooks`, `${root}/hooks`],
  [
    `PATCH ${ofGitHub}/hooks/{id}`,
    `${root}/hooks/71`,
    { active: true, events: ["push"], config: { url: hookUrl, content_type: "json" } }
  ],
  [`DELETE ${ofGitHub}/hooks/{id}`, `${root}/hooks/71`],
  [`GET ${ofGitHub}/pulls/{index}`, `${root}/pulls/99`],
  [`POST ${ofGitHub}/pulls`, `${root}/pulls`, { head: "other", base: "main", title: "Again", body: "" }],
  [`POST ${ofGitHub}/pulls`, `${root}/pulls`, { head: "other", base: "nowhere", title: "Odd", body: "" }],
  [`POST ${ofGitHub}/pulls/{index}/merge`, `${root}/pulls/1/merge`, { head_commit_id: "f".repeat(40) }],
  [`POST ${ofGitHub}/pulls/{index}/merge`, `${root}/pulls/1/merge`, { head_commit_id: head }],
  [`POST ${ofGitHub}/pulls/{index}/merge`, `${root}/pulls/1/merge`, { head_commit_id: head }],
  [`DELETE ${ofGitHub}/branches/{branch}`, `${root}/branches/work`]
]

const calls = { github, gitlab, gitea }

/** Fills a forge with a merge request, and what people and programs have added to it. The comment on a line has the id 9. */
const fill = (forge: ForgeServer): void => {
  forge.add({ head: "work", base: "main", title: "Theirs", body: "Text." })
  forge.add({ head: "quiet", base: "main", state: "closed" })
  forge.check({ head, name: "build", state: "failed", log: "It fails." })
  forge.check({ head, name: "lint", state: "pending", app: { id: 12, slug: "other" } })
  forge.check({ head, name: "wait", state: "waiting" })
  forge.check({ head, name: "old", state: "passed", system: "status" })
  forge.review({ author: "bo", state: "approved", pull: 1 })
  forge.review({ author: "cy", state: "changes_requested", pull: 1 })
  while (forge.comments.length === 0 || (forge.comments.at(-1)?.id ?? 0) < 9)
    forge.comment({ pull: 1, author: "bo", body: "See here.", place: { path: "a.txt", line: 3, side: "new" } })
  forge.comment({ pull: 1, author: "bo", body: "All of it.", place: { path: "a.txt", line: null, side: "new" } })
  forge.comment({
    pull: 1,
    author: "bo",
    body: "And so on.",
    place: { path: "a.txt", line: 4, side: "old" },
    outdated: true
  })
  forge.comment({ pull: 1, author: "bo", body: "Talk." })
  forge.required.push("build", "old")
  forge.demands.bypass = "never"
  forge.demands.protection = {}
}

/** The statement of an app that it is the one with the key. */
const statement = ({ clientId }: ForgeApp): string => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const at = Math.floor(Date.now() / 1000)
  const text = `${part({ alg: "RS256", typ: "JWT" })}.${part({ iat: at - 60, exp: at + 540, iss: clientId })}`
  return `${text}.${sign("RSA-SHA256", Buffer.from(text), createPrivateKey(appKeys().pkcs8)).toString("base64url")}`
}

export interface Answered {
  readonly operation: string
  readonly status: number
  readonly body: unknown
  readonly headers: Headers
}

/** The forge of the tests, and its answers to all of the calls. */
export const answered = (kind: KnownForge) =>
  Effect.gen(function* () {
    const heads = new Map(
      ["main", "other", "work", "quiet"].map((branch) => [branch, branch === "work" ? head : "a".repeat(40)])
    )
    const dialect = dialects[kind](repository[kind])
    const forge = new ForgeServer(dialect, token, {
      headOf: (branch) => heads.get(branch),
      merge: () => undefined,
      remove: (branch) => void heads.delete(branch)
    })
    fill(forge)
    const app = new ForgeApp(repository[kind])
    if (kind === "github") forge.app = app
    const port = yield* onLoopback(() => createServer((request, response) => void forge.handle(request, response)))
    const api = dialect.userPath.slice(0, -"/user".length)
    const authorization = kind === "gitea" ? `token ${token}` : `Bearer ${token}`
    const answers: Array<Answered> = []
    for (const [operation, path, body] of calls[kind](dialect.root.slice(api.length))) {
      const [method = "GET"] = operation.split(" ")
      const isOfApp = !path.startsWith("/") && path !== "graphql"
      const own = path === "installation" ? `/repos/${repository[kind]}/installation` : `/${path}`
      const place = path === "graphql" ? "/api/graphql" : `${api}${isOfApp ? own : path}`
      const answer = yield* Effect.promise(() =>
        fetch(`http://127.0.0.1:${port}${place}`, {
          method,
          redirect: "manual",
          headers: {
            authorization: isOfApp ? `Bearer ${statement(app)}` : authorization,
            "user-agent": "reins",
            "content-type": "application/json"
          },
          ...(body !== undefined && { body: JSON.stringify(body) })
        })
      )
      const text = yield* Effect.promise(() => answer.text())
      const isJson = answer.headers.get("content-type") === "application/json"
      answers.push({
        operation,
        status: answer.status,
        headers: answer.headers,
        body: isJson && text !== "" ? JSON.parse(text) : undefined
      })
    }
    return { answers, forge }
  })
