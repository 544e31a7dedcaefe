import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import { Schema } from "effect"
import { ForgeHookList } from "./ForgeHookList.js"

/** A pull or merge request as the server holds it. */
export interface Pull {
  readonly number: number
  readonly head: string
  readonly base: string
  readonly fork: boolean
  title: string
  body: string
  draft: boolean
  state: "open" | "closed" | "merged"
}

export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/** An answer that is given instead of the next one; `after` lets the request take effect first. */
export interface Canned {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly after?: boolean
}

/** The branches, and the effect of a merge on them. */
export interface Branches {
  readonly headOf: (branch: string) => string | undefined
  readonly merge: (head: string, base: string) => void
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

type Operation =
  | { readonly name: "list"; readonly query: URLSearchParams }
  | { readonly name: "create" }
  | { readonly name: "get" | "merge"; readonly number: number }

const Body = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

const text = (value: unknown): string => (typeof value === "string" ? value : "")

/** One repository of a forge that imitates the paths, status codes and bodies of a product. */
export class ForgeServer {
  readonly pulls: Array<Pull> = []
  readonly seen: Array<Seen> = []
  readonly canned: Array<Canned> = []
  readonly hooks = new ForgeHookList()
  /** The issues that merges have closed, because the texts of their requests say so. */
  readonly closed: Array<number> = []
  /** True after the repository has got another name: its old paths redirect, or tell that they do not. */
  moved = false
  constructor(
    private readonly dialect: Dialect,
    private readonly token: string,
    readonly branches: Branches
  ) {}

  /** Adds a merge request that somebody else opened. */
  readonly add = (pull: Partial<Pull> & Pick<Pull, "head" | "base">): Pull => {
    const added: Pull = {
      number: this.pulls.length + 1,
      title: "theirs",
      body: "",
      fork: false,
      draft: false,
      state: "open",
      ...pull
    }
    this.pulls.push(added)
    return added
  }

  /** Answers a request to the API and gives true; false for any other. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): boolean => {
    const url = new URL(request.url ?? "/", "http://localhost")
    if (!url.pathname.startsWith("/api/")) return false
    this.seen.push({ method: request.method ?? "", path: `${url.pathname}${url.search}`, headers: request.headers })
    if (this.moved && url.pathname.startsWith(this.dialect.root)) {
      const { body, status } = this.dialect.movedAway(request.method ?? "")
      const location = `${this.dialect.movedRoot}${url.pathname.slice(this.dialect.root.length)}${url.search}`
      request.resume()
      response.writeHead(status, status < 400 ? { location } : {}).end(JSON.stringify(body))
      return true
    }
    if (url.pathname.startsWith(this.dialect.movedRoot)) {
      url.pathname = `${this.dialect.root}${url.pathname.slice(this.dialect.movedRoot.length)}`
    }
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const canned = this.canned.shift()
      if (canned === undefined || canned.after === true) {
        const { body, status } = this.answer(request, url, Buffer.concat(chunks).toString("utf8"))
        if (canned === undefined) {
          response.writeHead(status, { "content-type": "application/json" })
          response.end(body === undefined ? "" : JSON.stringify(body))
          return
        }
      }
      response.writeHead(canned.status, canned.headers ?? {}).end(canned.body ?? "")
    })
    return true
  }

  private answer(request: IncomingMessage, url: URL, raw: string): Answer {
    if (!this.dialect.authorized(request.headers, this.token)) return this.dialect.unauthorized
    if (url.pathname === this.dialect.userPath) return { status: 200, body: { id: 7, login: "ann", username: "ann" } }
    const hooks = `${this.dialect.root}/hooks`
    if (url.pathname === hooks || url.pathname.startsWith(`${hooks}/`))
      return (
        this.hooks.answer(request.method ?? "", url.pathname.slice(hooks.length), () =>
          Schema.decodeUnknownSync(Body)(raw)
        ) ?? this.dialect.notFound
      )
    const operation = this.dialect.route(request.method ?? "", url)
    if (operation === undefined) return this.dialect.notFound
    switch (operation.name) {
      case "list":
        return { status: 200, body: this.dialect.list(operation.query, this.pulls).map(this.shown) }
      case "create":
        return this.create(Schema.decodeUnknownSync(Body)(raw))
      case "get": {
        const pull = this.pulls.find(({ number }) => number === operation.number)
        return pull === undefined ? this.dialect.notFound : { status: 200, body: this.shown(pull) }
      }
      case "merge":
        return this.merge(operation.number, Schema.decodeUnknownSync(Body)(raw))
    }
  }

  private create(input: Readonly<Record<string, unknown>>): Answer {
    const wanted = this.dialect.created(input)
    if (this.branches.headOf(wanted.head) === undefined || this.branches.headOf(wanted.base) === undefined) {
      return this.dialect.badBranch
    }
    const open = this.pulls.find(
      ({ base, fork, head, state }) => state === "open" && !fork && head === wanted.head && base === wanted.base
    )
    if (open !== undefined) return this.dialect.exists(open)
    return { status: 201, body: this.shown(this.add(wanted)) }
  }

  private merge(number: number, input: Readonly<Record<string, unknown>>): Answer {
    const pull = this.pulls.find((candidate) => candidate.number === number)
    if (pull === undefined) return this.dialect.notFound
    const head = this.branches.headOf(pull.head) ?? ""
    if (pull.state !== "open" || pull.draft) return this.dialect.notMergeable
    if (this.dialect.expectedHead(input) !== head) return this.dialect.headMoved(head)
    this.branches.merge(pull.head, pull.base)
    pull.state = "merged"
    for (const [, issue] of pull.body.matchAll(/\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?) #(\d+)\b/gi))
      this.closed.push(Number(issue))
    return this.dialect.merged(this.shown(pull))
  }

  private readonly shown = (pull: Pull): unknown => this.dialect.shown(pull, this.branches.headOf(pull.head) ?? "")
}

/** The language of one product about one repository. */
export interface Dialect {
  /** The path of the repository in the API, and that which leads to it after it was renamed. */
  readonly root: string
  readonly movedRoot: string
  readonly movedAway: (method: string) => Answer
  readonly authorized: (headers: IncomingHttpHeaders, token: string) => boolean
  readonly unauthorized: Answer
  /** Where it says who a token is for. */
  readonly userPath: string
  readonly notFound: Answer
  readonly badBranch: Answer
  readonly notMergeable: Answer
  readonly route: (method: string, url: URL) => Operation | undefined
  readonly list: (query: URLSearchParams, pulls: ReadonlyArray<Pull>) => ReadonlyArray<Pull>
  readonly created: (
    input: Readonly<Record<string, unknown>>
  ) => Pick<Pull, "head" | "base" | "title" | "body" | "draft">
  readonly exists: (pull: Pull) => Answer
  readonly expectedHead: (input: Readonly<Record<string, unknown>>) => unknown
  readonly headMoved: (head: string) => Answer
  readonly merged: (shown: unknown) => Answer
  readonly shown: (pull: Pull, headSha: string) => unknown
}

const routed = (root: string, mergeMethod: string, method: string, url: URL): Operation | undefined => {
  if (!url.pathname.startsWith(root)) return undefined
  const rest = url.pathname.slice(root.length)
  if (rest === "") return method === "GET" ? { name: "list", query: url.searchParams } : { name: "create" }
  const [, number, action] = /^\/(\d+)(\/merge)?$/.exec(rest) ?? []
  if (number === undefined) return undefined
  if (action === undefined) return method === "GET" ? { name: "get", number: Number(number) } : undefined
  return method === mergeMethod ? { name: "merge", number: Number(number) } : undefined
}

const timestamp = "2026-01-01T00:00:00Z"

const github = (repository: string): Dialect => {
  const [owner = ""] = repository.split("/")
  const docs = { documentation_url: "https://docs.github.com/rest/pulls/pulls" }
  const invalid = (error: Readonly<Record<string, string>>): Answer => ({
    status: 422,
    body: { message: "Validation Failed", errors: [{ resource: "PullRequest", ...error }], ...docs, status: "422" }
  })
  return {
    root: `/api/v3/repos/${repository}`,
    movedRoot: "/api/v3/repositories/77",
    movedAway: (method) => ({
      status: method === "GET" ? 301 : 307,
      body: { message: method === "GET" ? "Moved Permanently" : "Temporary Redirect", ...docs }
    }),
    authorized: (headers, token) => headers.authorization === `Bearer ${token}` && headers["user-agent"] !== undefined,
    unauthorized: { status: 401, body: { message: "Bad credentials", ...docs, status: "401" } },
    userPath: "/api/v3/user",
    notFound: { status: 404, body: { message: "Not Found", ...docs, status: "404" } },
    badBranch: invalid({ field: "base", code: "invalid" }),
    notMergeable: { status: 405, body: { message: "Pull Request is not mergeable", ...docs, status: "405" } },
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
      body: { message: "Head branch was modified. Review and try the merge again.", ...docs, status: "409" }
    }),
    merged: () => ({
      status: 200,
      body: { sha: "f".repeat(40), merged: true, message: "Pull Request successfully merged" }
    }),
    shown: (pull, sha) => ({
      id: 9000 + pull.number,
      number: pull.number,
      html_url: `https://github.example/${repository}/pull/${pull.number}`,
      state: pull.state === "open" ? "open" : "closed",
      merged_at: pull.state === "merged" ? timestamp : null,
      title: pull.title,
      body: pull.body === "" ? null : pull.body,
      draft: pull.draft,
      head: { ref: pull.head, sha, label: `${owner}:${pull.head}` },
      base: { ref: pull.base }
    })
  }
}

const gitlab = (repository: string): Dialect => ({
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
    draft: /^draft:/i.test(text(input["title"]))
  }),
  exists: ({ number }) => ({
    status: 409,
    body: { message: [`Another open merge request already exists for this source branch: !${number}`] }
  }),
  expectedHead: (input) => input["sha"],
  headMoved: (head) => ({ status: 409, body: { message: `SHA does not match HEAD of source branch: ${head}` } }),
  merged: (shown) => ({ status: 200, body: shown }),
  shown: (pull, sha) => ({
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
    sha,
    source_branch: pull.head,
    target_branch: pull.base
  })
})

const gitea = (repository: string): Dialect => {
  const swagger = { url: "https://gitea.example/api/swagger" }
  return {
    root: `/api/v1/repos/${repository}`,
    movedRoot: "/api/v1/repos/acme/renamed",
    movedAway: () => ({ status: 307, body: "" }),
    authorized: (headers, token) => headers.authorization === `token ${token}`,
    unauthorized: { status: 401, body: { message: "invalid username, password or token", ...swagger } },
    userPath: "/api/v1/user",
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
      draft: /^wip:/i.test(text(input["title"]))
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
    shown: (pull, sha) => ({
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
