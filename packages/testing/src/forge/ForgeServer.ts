import { createHash } from "node:crypto"
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import { Schema } from "effect"
import { answerAct } from "./ForgeActs.js"
import type { ForgeApp } from "./ForgeApp.js"
import { answerChange, closedBy, type PullOperation } from "./ForgeChanges.js"
import type { KnownForge } from "./ForgeDialects.js"
import { callHook, type ForgeNews, hookDialects } from "./ForgeHookCalls.js"
import { ForgeHookList } from "./ForgeHookList.js"
import { answerLog, answerStore } from "./ForgeLogs.js"
import { type Demanded, type RulingRoute, refusedMethod } from "./ForgeRuling.js"
import {
  type Held,
  type HeldCheck,
  type HeldComment,
  type HeldReview,
  type Oddities,
  ok,
  type StandingRoute
} from "./ForgeStanding.js"
import { locationOf } from "./GitHubStanding.js"

/** A pull or merge request as the server holds it. */
export interface Pull {
  readonly number: number
  readonly head: string
  /** Somebody may choose another one. */
  base: string
  fork: boolean
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
  /** True when the branches do not merge. Absent where nobody asks. */
  readonly conflicts?: (head: string, base: string) => boolean
  /** Absent where branches stay. */
  readonly remove?: (branch: string) => void
}

export interface Answer {
  readonly status: number
  readonly body: unknown
  /** In place of a body in JSON. */
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
}

export type ForgeOperation =
  | { readonly name: "list"; readonly query: URLSearchParams }
  | { readonly name: "create" }
  | { readonly name: "get" | "merge"; readonly number: number }

const Body = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** The app of GitHub's own CI. */
const actions = { id: 15_368, slug: "github-actions" }

const checkDefaults = { system: "run" as const, optional: false, log: "" }

/** The paths of a merge request, with its number. */
const numbered = /^\/(?:pulls|issues|merge_requests)\/(\d+)/

/** One repository of a forge that imitates the paths, status codes and bodies of a product. */
export class ForgeServer {
  readonly pulls: Array<Pull> = []
  readonly seen: Array<Seen> = []
  readonly canned: Array<Canned> = []
  /** The statuses of the answers that were not canned. */
  readonly statuses: Array<number> = []
  readonly hooks: ForgeHookList
  /** The issues that merges have closed, because the texts of their requests say so. */
  readonly closed: Array<number> = []
  readonly checks: Array<HeldCheck> = []
  readonly reviews: Array<HeldReview> = []
  readonly comments: Array<HeldComment> = []
  readonly required: Array<string> = []
  readonly readers = new Set<string>()
  readonly demands: Demanded = {}
  readonly odd: Oddities = {
    staleHead: undefined,
    computing: false,
    conflicts: false,
    forbidden: undefined,
    always: undefined,
    headless: false,
    failing: undefined,
    mergedResult: undefined,
    word: undefined,
    refusesMerges: false,
    limit: undefined,
    closedList: false,
    hooks: "once"
  }
  /** The answers to the calls of hooks. */
  readonly calls: Array<Promise<ReadonlyArray<number>>> = []
  /** The app that the repository has. GitHub alone has such apps. */
  app: ForgeApp | undefined
  private ids = 0
  /** True after the repository has got another name: its old paths redirect, or tell that they do not. */
  moved = false
  constructor(
    private readonly dialect: Dialect,
    private readonly token: string,
    readonly branches: Branches
  ) {
    this.hooks = new ForgeHookList(dialect.kind)
  }

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

  /** Adds a check of a commit. One of the same name, workflow and event is a later run, in the same suite if none is named. */
  readonly check = (check: Partial<HeldCheck> & Pick<HeldCheck, "head" | "name" | "state">): HeldCheck => {
    const id = ++this.ids
    const startedAt = new Date(Date.UTC(2026, 0, 1) + id * 1000).toISOString().replace(".000", "")
    const origin = { app: actions, workflow: 1, event: "pull_request", ...check }
    const added: HeldCheck = { ...origin, suite: this.suiteOf(origin), id, startedAt, ...checkDefaults, ...check }
    this.checks.push(added)
    return added
  }

  /** Adds a review of the present head of a merge request, the newest one if none is named. */
  readonly review = (review: Partial<HeldReview> & Pick<HeldReview, "author" | "state">): HeldReview => {
    const pull = review.pull ?? this.newest()
    const official = !this.readers.has(review.author)
    const written = { id: ++this.ids, pull, head: this.headOf(pull), body: "", dismissed: false, official }
    const added: HeldReview = { ...written, ...review }
    this.reviews.push(added)
    return added
  }

  /** Adds a comment to a merge request, the newest one if none is named. */
  readonly comment = (comment: Partial<HeldComment> & Pick<HeldComment, "author" | "body">): HeldComment => {
    const pull = comment.pull ?? this.newest()
    const added: HeldComment = {
      id: ++this.ids,
      pull,
      isBot: false,
      place: undefined,
      replyTo: undefined,
      head: this.headOf(pull),
      outdated: false,
      resolved: false,
      ...comment
    }
    this.comments.push(added)
    return added
  }

  /** Calls the hooks that want to know. A push is told of each merge request of its branch, too. */
  readonly tellHooks = (news: ForgeNews): void => {
    const { kind, repository } = this.dialect
    const dialect = hookDialects[kind]
    const call = dialect.bodyOf(repository, news)
    const times = { once: 1, twice: 2, "25 times": 25, never: 0 }[this.odd.hooks]
    for (const hook of this.hooks.held)
      if (times > 0 && dialect.wants(hook, news, call)) this.calls.push(callHook(dialect, hook, call, times))
    if (news.what !== "push") return
    for (const pull of this.pulls)
      if (pull.state === "open" && !pull.fork && pull.head === news.branch)
        this.tellHooks({ what: "merge_request", pull, sha: news.sha })
  }

  private readonly suiteOf = (of: Pick<HeldCheck, "app" | "event" | "head" | "workflow">): number =>
    this.checks.findLast(
      ({ app, event, head, workflow }) =>
        head === of.head && app.id === of.app.id && workflow === of.workflow && event === of.event
    )?.suite ?? 70_000 + ++this.ids

  private readonly newest = (): number => this.pulls.at(-1)?.number ?? 1

  private readonly headOf = (pull: number): string =>
    this.branches.headOf(this.pulls.find(({ number }) => number === pull)?.head ?? "") ?? ""

  /** The reviews and comments of the merge request that a call names. */
  private readonly heldOf = (rest: string, body: string): Held => {
    const [, number] = (rest === "/graphql" ? /"number":(\d+)/.exec(body) : numbered.exec(rest)) ?? []
    if (number === undefined) return this
    const isIts = ({ pull }: { readonly pull: number }) => pull === Number(number)
    return {
      checks: this.checks,
      reviews: this.reviews.filter(isIts),
      comments: this.comments.filter(isIts),
      odd: this.odd
    }
  }

  /** Answers a request to the API and gives true; false for any other. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): boolean => {
    const url = new URL(request.url ?? "/", "http://localhost")
    const stored = answerStore(this.checks, request)
    if (stored !== undefined) {
      this.seen.push({ method: request.method ?? "", path: url.pathname, headers: request.headers })
      request.resume()
      this.send(request, response, stored)
      return true
    }
    if (!url.pathname.startsWith("/api/")) return false
    this.seen.push({ method: request.method ?? "", path: `${url.pathname}${url.search}`, headers: request.headers })
    if (this.moved && url.pathname.startsWith(this.dialect.root)) {
      const { body, status } = this.dialect.movedAway(request.method ?? "")
      const location = `${this.dialect.movedRoot}${url.pathname.slice(this.dialect.root.length)}${url.search}`
      request.resume()
      response.writeHead(status, status < 400 ? { location } : {}).end(JSON.stringify(body))
      return true
    }
    if (url.pathname.startsWith(this.dialect.movedRoot))
      url.pathname = `${this.dialect.root}${url.pathname.slice(this.dialect.movedRoot.length)}`
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const canned = this.canned.shift() ?? this.odd.always
      if (canned === undefined || canned.after === true) {
        const answer = this.answer(request, url, Buffer.concat(chunks).toString("utf8"))
        if (canned === undefined) return this.send(request, response, answer)
      }
      response.writeHead(canned.status, canned.headers ?? {}).end(canned.body ?? "")
    })
    return true
  }

  /** Sends an answer, or 304 where the caller has it already. */
  private send(
    request: IncomingMessage,
    response: ServerResponse,
    { body: given, headers: own, status, text }: Answer
  ): void {
    const body = text ?? (given === undefined ? "" : JSON.stringify(given))
    // An ETag of GitHub is good for one token only.
    const reader = this.dialect.kind === "github" ? (request.headers.authorization ?? "") : ""
    const etag = `W/"${createHash("sha256").update(`${reader}\n${body}`).digest("hex")}"`
    const { limit } = this.odd
    const headers = {
      "content-type": text === undefined ? "application/json" : "text/plain; charset=utf-8",
      ...(this.dialect.hasTags && request.method === "GET" && status === 200 && { etag }),
      ...(this.dialect.kind === "github" && status === 201 && locationOf(given)),
      ...(limit !== undefined && {
        "x-ratelimit-limit": String(limit.limit),
        "x-ratelimit-remaining": String(limit.remaining),
        "x-ratelimit-reset": String(Math.ceil(Date.now() / 1000) + 600)
      }),
      ...own
    }
    const isKnown = "etag" in headers && request.headers["if-none-match"] === etag
    this.statuses.push(isKnown ? 304 : status)
    if (isKnown) response.writeHead(304, headers).end()
    else response.writeHead(status, headers).end(body)
  }

  private answer(request: IncomingMessage, url: URL, raw: string): Answer {
    const ofApp = this.app?.answer(
      request.method ?? "",
      url.pathname.slice(this.dialect.userPath.length - "/user".length),
      request.headers,
      raw
    )
    if (ofApp !== undefined) return ofApp
    const tokens = [this.token, ...(this.app?.live() ?? []).map(({ token }) => token)]
    if (!tokens.some((token) => this.dialect.authorized(request.headers, token))) return this.dialect.unauthorized
    if (this.odd.forbidden !== undefined && url.pathname.includes(this.odd.forbidden)) return this.dialect.forbidden
    if (this.odd.failing !== undefined && url.pathname.includes(this.odd.failing))
      return { status: 503, body: { message: "Service Unavailable" } }
    const isGraphql = url.pathname === "/api/graphql"
    if (isGraphql || url.pathname.startsWith(this.dialect.root)) {
      const rest = isGraphql ? "/graphql" : url.pathname.slice(this.dialect.root.length)
      const { kind, notFound, ruling, standing } = this.dialect
      const method = request.method ?? ""
      const answer =
        answerAct(this, { kind, method, rest, url, body: raw }) ??
        answerChange({ pulls: this.pulls, shown: (pull) => this.shown(pull, "change") }, method, rest, raw) ??
        standing(this.heldOf(rest, raw), rest, url, raw) ??
        answerLog(kind, this.checks, rest, notFound, request) ??
        ruling(this, method, rest, url)
      if (answer !== undefined) return answer
    }
    if (url.pathname === this.dialect.userPath) return ok(this.dialect.user)
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
        if (this.odd.closedList) return this.dialect.forbidden
        return ok(this.dialect.list(operation.query, this.pulls).map((pull) => this.shown(pull, "list")))
      case "create":
        return this.create(Schema.decodeUnknownSync(Body)(raw))
      case "get": {
        const pull = this.pulls.find(({ number }) => number === operation.number)
        return pull === undefined ? this.dialect.notFound : ok(this.shown(pull, "get"))
      }
      case "merge":
        return this.merge(operation.number, Schema.decodeUnknownSync(Body)(raw))
    }
  }

  private create(input: Readonly<Record<string, unknown>>): Answer {
    const wanted = this.dialect.created(input)
    if (this.branches.headOf(wanted.head) === undefined || this.branches.headOf(wanted.base) === undefined)
      return this.dialect.badBranch
    const open = this.pulls.find(
      ({ base, fork, head, state }) => state === "open" && !fork && head === wanted.head && base === wanted.base
    )
    if (open !== undefined) return this.dialect.exists(open)
    return { status: 201, body: this.shown(this.add(wanted), "create") }
  }

  private merge(number: number, input: Readonly<Record<string, unknown>>): Answer {
    const pull = this.pulls.find((candidate) => candidate.number === number)
    if (pull === undefined) return this.dialect.notFound
    const head = this.branches.headOf(pull.head) ?? ""
    if (pull.state !== "open" || pull.draft || this.odd.refusesMerges) return this.dialect.notMergeable
    const isHead = this.dialect.expectedHead(input) === head
    const refused = isHead ? refusedMethod(this.demands, input) : this.dialect.headMoved(head)
    if (refused !== undefined) return refused
    this.branches.merge(pull.head, pull.base)
    pull.state = "merged"
    this.tellHooks({ what: "merge_request", pull, sha: head })
    this.closed.push(...closedBy(pull.body))
    return this.dialect.merged(this.shown(pull, "merge"))
  }

  private readonly shown = (pull: Pull, by: PullOperation): unknown => {
    const { conflicts: said, staleHead } = this.odd
    const conflicts = said === "by_git" ? this.branches.conflicts?.(pull.head, pull.base) === true : said
    const head = staleHead ?? this.branches.headOf(pull.head) ?? ""
    return this.dialect.shown(pull, head, { ...this.odd, conflicts }, by)
  }
}

/** The language of one product about one repository. */
export interface Dialect {
  readonly kind: KnownForge
  /** The path of the repository for people. */
  readonly repository: string
  /** The path of the repository in the API, and that which leads to it after it was renamed. */
  readonly root: string
  readonly movedRoot: string
  readonly movedAway: (method: string) => Answer
  readonly authorized: (headers: IncomingHttpHeaders, token: string) => boolean
  readonly unauthorized: Answer
  /** Where it says who a token is for. */
  readonly userPath: string
  /** The account of the token. */
  readonly user: unknown
  readonly notFound: Answer
  readonly badBranch: Answer
  readonly notMergeable: Answer
  readonly route: (method: string, url: URL) => ForgeOperation | undefined
  readonly list: (query: URLSearchParams, pulls: ReadonlyArray<Pull>) => ReadonlyArray<Pull>
  readonly created: (
    input: Readonly<Record<string, unknown>>
  ) => Pick<Pull, "head" | "base" | "title" | "body" | "draft">
  readonly exists: (pull: Pull) => Answer
  readonly expectedHead: (input: Readonly<Record<string, unknown>>) => unknown
  readonly headMoved: (head: string) => Answer
  readonly merged: (shown: unknown) => Answer
  readonly shown: (pull: Pull, headSha: string, odd: Oddities, by: PullOperation) => unknown
  readonly forbidden: Answer
  /** True where answers have ETags. */
  readonly hasTags: boolean
  readonly standing: StandingRoute
  readonly ruling: RulingRoute
}
