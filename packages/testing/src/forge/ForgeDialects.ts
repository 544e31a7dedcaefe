import { isDraftTitle, nodeIdOf, type PullOperation } from "./ForgeChanges.js"
import { giteaRuling, githubRuling, gitlabRuling } from "./ForgeRuling.js"
import type { Answer, Dialect, ForgeOperation } from "./ForgeServer.js"
import { giteaStanding, giteaUser } from "./GiteaStanding.js"
import { githubStanding, userOf } from "./GitHubStanding.js"
import { gitlabStanding, gitlabUser } from "./GitLabStanding.js"
import { recordings } from "./Recorded.js"

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const routed = (root: string, mergeMethod: string, method: string, url: URL): ForgeOperation | undefined => {
  if (!url.pathname.startsWith(root)) return undefined
  const rest = url.pathname.slice(root.length)
  if (rest === "") return method === "GET" ? { name: "list", query: url.searchParams } : { name: "create" }
  const [, number, action] = /^\/(\d+)(\/merge)?$/.exec(rest) ?? []
  if (number === undefined) return undefined
  if (action === undefined) return method === "GET" ? { name: "get", number: Number(number) } : undefined
  return method === mergeMethod ? { name: "merge", number: Number(number) } : undefined
}

const timestamp = "2026-01-01T00:00:00Z"

/** The answer to an operation about a merge request, as it is recorded for each operation or for a list of them. */
const pullAnswer =
  (kind: KnownForge, paths: Readonly<Record<PullOperation, string>>) =>
  (by: PullOperation, parts: Readonly<Record<string, unknown>>): unknown => {
    const { answer, item } = recordings(kind)
    return by === "list" ? item(paths.list, parts) : answer(paths[by], parts)
  }

const pulls = "/repos/{owner}/{repo}/pulls"

const githubPull = pullAnswer("github", {
  list: `GET ${pulls}`,
  create: `POST ${pulls}`,
  get: `GET ${pulls}/{pull_number}`,
  change: `GET ${pulls}/{pull_number}`,
  merge: `GET ${pulls}/{pull_number}`
})

const requests = "/projects/{id}/merge_requests"

const gitlabRequest = pullAnswer("gitlab", {
  list: `GET ${requests}`,
  create: `POST ${requests}`,
  get: `GET ${requests}/{merge_request_iid}`,
  change: `PUT ${requests}/{merge_request_iid}`,
  merge: `PUT ${requests}/{merge_request_iid}/merge`
})

const giteaPull = pullAnswer("gitea", {
  list: `GET ${pulls}`,
  create: `POST ${pulls}`,
  get: `GET ${pulls}/{index}`,
  change: `PATCH ${pulls}/{index}`,
  merge: `GET ${pulls}/{index}`
})

const github = (repository: string): Dialect => {
  const [owner = "", name = ""] = repository.split("/")
  const docs = { documentation_url: "https://docs.github.com/rest/pulls/pulls" }
  const invalid = (error: Readonly<Record<string, string>>): Answer => ({
    status: 422,
    body: { message: "Validation Failed", errors: [{ resource: "PullRequest", ...error }], ...docs }
  })
  return {
    kind: "github",
    repository,
    root: `/api/v3/repos/${repository}`,
    movedRoot: "/api/v3/repositories/77",
    movedAway: (method) => ({
      status: method === "GET" ? 301 : 307,
      body: { message: method === "GET" ? "Moved Permanently" : "Temporary Redirect", ...docs }
    }),
    authorized: (headers, token) => headers.authorization === `Bearer ${token}` && headers["user-agent"] !== undefined,
    unauthorized: { status: 401, body: { message: "Bad credentials", ...docs, status: "401" } },
    userPath: "/api/v3/user",
    user: recordings("github").answer("GET /user", userOf("ann")),
    notFound: { status: 404, body: { message: "Not Found", ...docs, status: "404" } },
    badBranch: invalid({ field: "base", code: "invalid" }),
    notMergeable: { status: 405, body: { message: "Pull Request is not mergeable", ...docs } },
    route: (method, url) => routed(`/api/v3/repos/${repository}/pulls`, "PUT", method, url),
    list: (query, pulls) =>
      pulls.filter(
        ({ base, fork, head, state }) =>
          (state === "open") === (query.get("state") === "open") &&
          (query.get("base") ?? base) === base &&
          (query.get("head") ?? head) === `${fork ? "stranger" : owner}:${head}`
      ),
    created: (input) => ({
      head: text(input["head"]),
      base: text(input["base"]),
      title: text(input["title"]),
      body: text(input["body"]),
      draft: input["draft"] === true
    }),
    exists: ({ head }) => invalid({ code: "custom", message: `A pull request already exists for ${owner}:${head}.` }),
    expectedHead: (input) => input["sha"],
    headMoved: () => ({
      status: 409,
      body: { message: "Head branch was modified. Review and try the merge again.", ...docs }
    }),
    merged: () => ({
      status: 200,
      body: { sha: "f".repeat(40), merged: true, message: "Pull Request successfully merged" }
    }),
    forbidden: { status: 403, body: { message: "Resource not accessible by personal access token", ...docs } },
    hasTags: true,
    standing: githubStanding,
    ruling: githubRuling,
    shown: (pull, sha, odd, by) =>
      githubPull(by, {
        // A list tells nothing of the merge.
        ...(by !== "list" && {
          merged: pull.state === "merged",
          mergeable: odd.computing ? null : !odd.conflicts,
          mergeable_state: odd.word ?? (odd.computing ? "unknown" : odd.conflicts ? "dirty" : "clean")
        }),
        id: 9000 + pull.number,
        node_id: nodeIdOf(pull),
        number: pull.number,
        html_url: `https://github.example/${repository}/pull/${pull.number}`,
        state: pull.state === "open" ? "open" : "closed",
        closed_at: pull.state === "open" ? null : timestamp,
        merged_at: pull.state === "merged" ? timestamp : null,
        title: pull.title,
        body: pull.body === "" ? null : pull.body,
        draft: pull.draft,
        head: {
          ref: pull.head,
          sha,
          label: `${pull.fork ? "stranger" : owner}:${pull.head}`,
          repo: { id: pull.fork ? 6 : 5, full_name: pull.fork ? `stranger/${name}` : repository }
        },
        base: { ref: pull.base, label: `${owner}:${pull.base}`, repo: { id: 5, full_name: repository } }
      })
  }
}

const gitlab = (repository: string): Dialect => ({
  kind: "gitlab",
  repository,
  root: `/api/v4/projects/${encodeURIComponent(repository)}`,
  movedRoot: "/api/v4/projects/3",
  // GitLab redirects reads alone.
  movedAway: (method) =>
    method === "GET"
      ? { status: 301, body: { message: "Moved Permanently" } }
      : { status: 405, body: { message: "Non GET methods are not allowed for moved projects" } },
  authorized: (headers, token) => headers.authorization === `Bearer ${token}`,
  unauthorized: { status: 401, body: { message: "401 Unauthorized" } },
  userPath: "/api/v4/user",
  user: recordings("gitlab").answer("GET /user", gitlabUser("ann")),
  notFound: { status: 404, body: { message: "404 Not found" } },
  badBranch: { status: 400, body: { message: { base: ["The source or target branch does not exist"] } } },
  notMergeable: { status: 405, body: { message: "405 Method Not Allowed" } },
  route: (method, url) =>
    routed(`/api/v4/projects/${encodeURIComponent(repository)}/merge_requests`, "PUT", method, url),
  list: (query, pulls) =>
    pulls.filter(
      ({ base, head, state }) =>
        (state === "open") === (query.get("state") === "opened") &&
        query.get("source_branch") === head &&
        query.get("target_branch") === base
    ),
  created: (input) => ({
    head: text(input["source_branch"]),
    base: text(input["target_branch"]),
    title: text(input["title"]),
    body: text(input["description"]),
    draft: isDraftTitle.gitlab(text(input["title"]))
  }),
  exists: ({ number }) => ({
    status: 409,
    body: { message: [`Another open merge request already exists for this source branch: !${number}`] }
  }),
  expectedHead: (input) => input["sha"],
  headMoved: (head) => ({ status: 409, body: { message: `SHA does not match HEAD of source branch: ${head}` } }),
  merged: (shown) => ({ status: 200, body: shown }),
  forbidden: { status: 403, body: { message: "403 Forbidden" } },
  hasTags: true,
  standing: gitlabStanding,
  ruling: gitlabRuling,
  shown: (pull, sha, odd, by) =>
    gitlabRequest(by, {
      has_conflicts: odd.conflicts && !odd.computing,
      detailed_merge_status: odd.word ?? (odd.computing ? "checking" : odd.conflicts ? "conflict" : "mergeable"),
      // A list tells of no pipeline.
      ...(by !== "list" && {
        head_pipeline:
          odd.mergedResult === undefined
            ? null
            : { id: 5, sha: odd.mergedResult, ref: `refs/merge-requests/${pull.number}/merge`, status: "running" }
      }),
      id: 9000 + pull.number,
      iid: pull.number,
      project_id: 3,
      source_project_id: pull.fork ? 4 : 3,
      target_project_id: 3,
      web_url: `https://gitlab.example/${repository}/-/merge_requests/${pull.number}`,
      state: pull.state === "open" ? "opened" : pull.state,
      title: pull.title,
      description: pull.body === "" ? null : pull.body,
      draft: pull.draft,
      work_in_progress: pull.draft,
      sha,
      source_branch: pull.head,
      target_branch: pull.base
    })
})

const gitea = (repository: string): Dialect => {
  const swagger = { url: "https://gitea.example/api/swagger" }
  return {
    kind: "gitea",
    repository,
    root: `/api/v1/repos/${repository}`,
    movedRoot: "/api/v1/repos/acme/renamed",
    movedAway: () => ({ status: 307, body: "" }),
    authorized: (headers, token) => headers.authorization === `token ${token}`,
    unauthorized: { status: 401, body: { message: "invalid username, password or token", ...swagger } },
    userPath: "/api/v1/user",
    user: recordings("gitea").answer("GET /user", giteaUser("ann")),
    notFound: { status: 404, body: { errors: [], message: "The target couldn't be found.", ...swagger } },
    badBranch: { status: 404, body: { errors: [], message: "The target couldn't be found.", ...swagger } },
    notMergeable: { status: 405, body: { message: "Work in progress PRs cannot be merged", ...swagger } },
    route: (method, url) => routed(`/api/v1/repos/${repository}/pulls`, "POST", method, url),
    list: (query, pulls) => {
      const open = pulls.filter(({ state }) => (state === "open") === (query.get("state") === "open"))
      const size = Number(query.get("limit"))
      const page = Number(query.get("page"))
      return [...open].reverse().slice((page - 1) * size, page * size)
    },
    created: (input) => ({
      head: text(input["head"]),
      base: text(input["base"]),
      title: text(input["title"]),
      body: text(input["body"]),
      draft: isDraftTitle.gitea(text(input["title"]))
    }),
    exists: ({ base, head, number }) => ({
      status: 409,
      body: {
        message: `pull request already exists for these targets [id: ${number}, issue_id: ${number}, head_repo_id: 5, base_repo_id: 5, head_branch: ${head}, base_branch: ${base}]`,
        ...swagger
      }
    }),
    expectedHead: (input) => input["head_commit_id"],
    headMoved: () => ({ status: 409, body: { message: "head out of date", ...swagger } }),
    merged: () => ({ status: 200, body: undefined }),
    forbidden: { status: 403, body: { message: "token does not have at least one of required scope(s)", ...swagger } },
    // Gitea's API has no ETags.
    hasTags: false,
    standing: giteaStanding,
    ruling: giteaRuling,
    shown: (pull, sha, odd, by) =>
      giteaPull(by, {
        mergeable: !odd.computing && !odd.conflicts && !pull.draft,
        id: 9000 + pull.number,
        number: pull.number,
        html_url: `https://gitea.example/${repository}/pulls/${pull.number}`,
        state: pull.state === "open" ? "open" : "closed",
        merged: pull.state === "merged",
        title: pull.title,
        body: pull.body,
        draft: pull.draft,
        head: { ref: pull.head, label: pull.head, sha, repo_id: pull.fork ? 6 : 5 },
        base: { ref: pull.base, label: pull.base, sha: "b".repeat(40), repo_id: 5 }
      })
  }
}

/** The forges that are part of Reins, by their kind. */
export const dialects = { github, gitlab, gitea } as const
export type KnownForge = keyof typeof dialects
