import type { Answer, Canned } from "./ForgeServer.js"

/** A run or a status of a commit, as the server holds it. */
export interface HeldCheck {
  readonly id: number
  readonly head: string
  readonly name: string
  /** A status of GitHub is no run. The others have statuses alone. */
  readonly system: "run" | "status"
  /** `waiting`: for the approval of a person. */
  state: "pending" | "passed" | "failed" | "cancelled" | "skipped" | "waiting"
  /** A word that the forge says in the place of the state. */
  readonly word?: string
  readonly optional: boolean
  readonly startedAt: string
  log: string
  /** The program that has reported it. GitHub alone tells it. */
  readonly app: { readonly id: number; readonly slug: string }
  /** The number of its workflow, and the event that began that. */
  readonly workflow: number
  readonly event: string
  /** A suite of GitHub, or a pipeline of GitLab. A run again of the same workflow may have another one. */
  readonly suite: number
}

export interface HeldReview {
  readonly id: number
  readonly author: string
  readonly pull: number
  readonly state: "approved" | "changes_requested" | "commented"
  readonly head: string
  readonly body: string
  dismissed: boolean
  /** Gitea tells whether a review counts. */
  readonly official: boolean
}

export interface HeldComment {
  readonly id: number
  readonly pull: number
  readonly author: string
  readonly isBot: boolean
  body: string
  /** A line comment has a place. */
  readonly place: Place | undefined
  /** The first comment of its thread. */
  readonly replyTo: number | undefined
  readonly head: string
  outdated: boolean
  resolved: boolean
}

/** A line of a file, or a whole one. */
export interface Place {
  readonly path: string
  /** Null for a whole file, which Gitea does not have. */
  readonly line: number | null
  readonly side: "new" | "old"
}

/** The things of a forge that go wrong at times. */
export interface Oddities {
  /** The head that merge requests are said to have, as after a push that the forge has not looked at yet. */
  staleHead: string | undefined
  /** The forge has not computed yet whether it can merge. */
  computing: boolean
  /** `by_git`: the forge merges the branches itself to find out. */
  conflicts: boolean | "by_git"
  /** The paths that it refuses with 403, by a part of them. */
  forbidden: string | undefined
  /** The answer to every call, as of a forge that has lost the repository or takes the token no more. */
  always: Canned | undefined
  /** Branches are shown without their commit. */
  headless: boolean
  /** Paths with this part answer 503, as behind a proxy whose forge is away. */
  failing: string | undefined
  /** The pipeline of a merged result, whose jobs are on a commit of their own. GitLab alone has it. */
  mergedResult: string | undefined
  /** The word of the forge on the merge, in place of its usual one. */
  word: string | undefined
  /** A rule of the forge that merges do not meet. */
  refusesMerges: boolean
  /** The budget that each answer tells. */
  limit: { readonly limit: number; readonly remaining: number } | undefined
  /** It does not show its list of merge requests, although it shows each of them. */
  closedList: boolean
  /** The number of its calls of a hook for one thing, each with the same id. */
  hooks: "once" | "twice" | "25 times" | "never"
}

export interface Held {
  readonly checks: ReadonlyArray<HeldCheck>
  readonly reviews: ReadonlyArray<HeldReview>
  readonly comments: ReadonlyArray<HeldComment>
  readonly odd: Oddities
}

/** Answers a read that is about the standing of a merge request; undefined for any other path. `rest` is the path below the repository. */
export type StandingRoute = (held: Held, rest: string, url: URL, body: string) => Answer | undefined

export const at = "2026-01-01T00:00:00Z"

export const ok = (body: unknown): Answer => ({ status: 200, body })

const link = (url: URL, page: number, rel: string): string => {
  const linked = new URL(url)
  linked.searchParams.set("page", String(page))
  return `<${linked}>; rel="${rel}"`
}

/** A page of a list, which names the next one. `shown` puts the items of the page into the answer. */
export const paged = <A>(
  url: URL,
  size: number,
  items: ReadonlyArray<A>,
  shown: (items: ReadonlyArray<A>) => unknown
): Answer => {
  const per = Math.min(size, Number(url.searchParams.get("per_page") ?? url.searchParams.get("limit") ?? size))
  const page = Number(url.searchParams.get("page") ?? 1)
  const last = Math.max(1, Math.ceil(items.length / per))
  const links = [
    ...(page > 1 ? [link(url, page - 1, "prev")] : []),
    ...(page < last ? [link(url, page + 1, "next"), link(url, last, "last")] : []),
    ...(page > 1 ? [link(url, 1, "first")] : [])
  ]
  const body = shown(items.slice((page - 1) * per, page * per))
  return { ...ok(body), ...(links.length > 0 && { headers: { link: links.join(", ") } }) }
}

/** The newest run of each name in a suite or pipeline. */
export const latest = (checks: ReadonlyArray<HeldCheck>): ReadonlyArray<HeldCheck> => [
  ...new Map(checks.map((check) => [`${check.suite} ${check.name}`, check])).values()
]

/** The newest check of each suite, the newest suite first. */
export const suitesOf = (checks: ReadonlyArray<HeldCheck>): ReadonlyArray<HeldCheck> =>
  [...new Map(checks.map((check) => [check.suite, check])).values()].toReversed()

export const matched = (rest: string, pattern: RegExp): string | undefined => pattern.exec(rest)?.[1]
