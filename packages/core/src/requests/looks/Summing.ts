import type { ForgeErrorKind } from "@reins/machine/forge/ForgeCalls"
import type { RemoteObstacle } from "@reins/machine/forge/ForgeView"
import type { JudgedCheck } from "../rows/CheckLogs.js"
import type { JudgedReview, RequestCheck, RequestThread } from "../rows/RequestParts.js"
import type { RequestStanding, WaitingFor } from "../rows/RequestStanding.js"
import type { LeftParts } from "./LeftOut.js"
import { askingForChanges, deciding, inOpenThreads, type Rights, unknownRight } from "./Objections.js"

/** Why a part was not read at the last look. */
export interface Unread {
  readonly kind: ForgeErrorKind
  readonly message: string
}

/** All that is known of an open merge request. */
export interface Sighting {
  readonly headSha: string
  readonly isDraft: boolean
  readonly isOurs: boolean
  readonly conflicts: RequestStanding["conflicts"]
  /** The checks of the head. */
  readonly checks: ReadonlyArray<JudgedCheck>
  readonly reviews: ReadonlyArray<JudgedReview>
  readonly threads: ReadonlyArray<RequestThread>
  /** The word of the forge against the merge; absent for none. */
  readonly obstacle?: RemoteObstacle | undefined
  /** The rights of those who have reviewed or written in open threads. */
  readonly rights: Rights
  /** A sentence for each part of which not everything could be read. */
  readonly left: LeftParts
  readonly unread: { readonly [Part in "checks" | "baseChecks" | "reviews" | "threads"]?: Unread }
  /** True when the head has been there for so long that a check would have reported. */
  readonly isLate: boolean
}

/** The sum of a sighting. A part that was not read is never a success. */
export const standingOf = (given: Sighting): RequestStanding => {
  const checks = checkSum(given)
  const reviews = reviewSum(given)
  const open = given.threads.filter(({ path, resolved }) => path !== null && resolved === false).length
  const isRead = given.unread.threads === undefined && given.left.threads === undefined
  const threads = { state: isRead ? "read" : "unreadable", open } as const
  const sums = { head_is_ours: given.isOurs, checks, reviews, threads, conflicts: given.conflicts }
  return { ...sums, waiting_for: waitingFor(given, sums) }
}

const isFailing = ({ optional, state }: RequestCheck) => !optional && (state === "failing" || state === "cancelled")
const isPending = ({ optional, state }: RequestCheck) =>
  !optional && (state === "pending" || state === "action_required")

const checkSum = ({ checks, headSha, left, unread }: Sighting): RequestStanding["checks"] => {
  const isComplete = left.checks === undefined
  const passing = checks.filter(({ state }) => state === "passing").length
  const pending = checks.filter(isPending).length
  const failing = checks.filter(isFailing).length
  const sum = { head_sha: headSha, passing, pending, failing, complete: isComplete }
  if (unread.checks !== undefined) return { ...sum, state: "unreadable" }
  if (failing > 0) return { ...sum, state: "failing" }
  // More checks than were read may hold one that has failed.
  if (!isComplete) return { ...sum, state: "unreadable" }
  if (pending > 0) return { ...sum, state: "pending" }
  return { ...sum, state: passing > 0 ? "passing" : "none" }
}

const reviewSum = ({ headSha, left, reviews, unread }: Sighting): RequestStanding["reviews"] => {
  const last = deciding(reviews)
  return {
    state: unread.reviews === undefined && left.reviews === undefined ? "read" : "unreadable",
    approvals: last.filter(({ head_sha, state }) => state === "approved" && head_sha === headSha).length,
    changes_requested: last.filter(({ state }) => state === "changes_requested").length
  }
}

const mostNames = 20

type Sums = Omit<RequestStanding, "waiting_for">

const waitingFor = (given: Sighting, sums: Sums): ReadonlyArray<WaitingFor> => [
  ...(given.isDraft ? [waiting("draft", "It is a draft. Mark it as ready.")] : []),
  ...(sums.conflicts === "conflicts" ? [waiting("conflicts", "It conflicts with its base branch.")] : []),
  ...(sums.conflicts === "unknown"
    ? [waiting("conflicts_unknown", "The forge has not said yet whether it merges with its base branch.")]
    : []),
  ...waitingForChecks(given, sums),
  ...unreadable("reviews_unreadable", "reviews", given.unread.reviews),
  ...incomplete("reviews_incomplete", given.left.reviews),
  ...objectionsTo(given).map(({ kind, message }) => waiting(kind, message)),
  ...unreadable("threads_unreadable", "comments", given.unread.threads),
  ...incomplete("threads_incomplete", given.left.threads),
  ...(given.obstacle === undefined ? [] : [waiting("forge_blocks", given.obstacle.say, [given.obstacle.word])])
]

/** Objections of people to the merge. A person who may not write to the repository holds nothing up. */
export const objectionsTo = ({ reviews, rights, threads }: Pick<Sighting, "reviews" | "rights" | "threads">) => {
  const asking = askingForChanges(reviews, rights)
  const open = inOpenThreads(threads, rights)
  return [
    ...(asking.holding.length > 0
      ? [{ kind: "changes_requested" as const, message: "A reviewer asks for changes." }]
      : []),
    ...(asking.unknown.length > 0
      ? [{ kind: "changes_requested" as const, message: unknownRight(asking, "the request for changes") }]
      : []),
    ...(open.holding.length > 0
      ? [{ kind: "open_threads" as const, message: "A thread about a line is not resolved." }]
      : []),
    ...(open.unknown.length > 0
      ? [{ kind: "open_threads" as const, message: unknownRight(open, "the open thread") }]
      : [])
  ]
}

const waitingForChecks = (given: Sighting, { checks }: Sums): ReadonlyArray<WaitingFor> => {
  const named = (isWanted: (check: RequestCheck) => boolean) => given.checks.filter(isWanted).map(({ name }) => name)
  const isOnBase = named((check) => isFailing(check) && check.on_base === true)
  return [
    ...unreadable("checks_unreadable", "checks", given.unread.checks),
    ...(checks.failing > 0 ? [waiting("checks_failing", "A check has failed.", named(isFailing))] : []),
    ...(isOnBase.length > 0
      ? [
          waiting(
            "checks_red_on_base",
            "A failed check has failed on the base branch too, so this change need not be the cause. Mend it there.",
            isOnBase
          )
        ]
      : []),
    ...(checks.failing > 0
      ? [
          ...unreadable("base_checks_unreadable", "checks of the base branch", given.unread.baseChecks),
          ...incomplete("base_checks_unreadable", given.left.baseChecks)
        ]
      : []),
    ...(checks.pending > 0 ? [waiting("checks_pending", "A check has not ended.", named(isPending))] : []),
    ...incomplete("checks_incomplete", given.left.checks),
    ...(checks.state === "none" && given.isLate
      ? [
          waiting(
            "no_check_reports",
            "No check has reported on this commit. A push with the token of a CI job starts no CI on some forges, and a conflict stops it."
          )
        ]
      : [])
  ]
}

const unreadable = (kind: WaitingFor["kind"], what: string, unread: Unread | undefined): ReadonlyArray<WaitingFor> =>
  unread === undefined ? [] : [waiting(kind, `The ${what} cannot be read. ${unread.message}`)]

const incomplete = (kind: WaitingFor["kind"], left: string | undefined): ReadonlyArray<WaitingFor> =>
  left === undefined ? [] : [waiting(kind, left)]

export const waiting = (kind: WaitingFor["kind"], message: string, names: ReadonlyArray<string> = []): WaitingFor => ({
  kind,
  names: names.slice(0, mostNames),
  message
})
