import type { ForgeErrorKind } from "../../forge/ForgeCalls.js"
import type { RequestCheck, RequestReview, RequestThread } from "./RequestParts.js"
import type { RequestStanding, WaitingFor } from "./RequestStanding.js"

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
  readonly checks: ReadonlyArray<RequestCheck>
  readonly reviews: ReadonlyArray<RequestReview>
  readonly threads: ReadonlyArray<RequestThread>
  readonly isComplete: boolean
  readonly unread: { readonly [Part in "checks" | "baseChecks" | "reviews" | "threads"]?: Unread }
  /** True when the head has been there for so long that a check would have reported. */
  readonly isLate: boolean
}

/** The sum of a sighting. A part that was not read is never a success. */
export const standingOf = (given: Sighting): RequestStanding => {
  const checks = checkSum(given)
  const reviews = reviewSum(given)
  const open = given.threads.filter(({ path, resolved }) => path !== null && resolved === false).length
  const threads = { state: given.unread.threads === undefined ? "read" : "unreadable", open } as const
  const sums = { head_is_ours: given.isOurs, checks, reviews, threads, conflicts: given.conflicts }
  return { ...sums, waiting_for: waitingFor(given, sums) }
}

const isFailing = ({ optional, state }: RequestCheck) => !optional && (state === "failing" || state === "cancelled")
const isPending = ({ optional, state }: RequestCheck) =>
  !optional && (state === "pending" || state === "action_required")

const checkSum = ({ checks, headSha, isComplete, unread }: Sighting): RequestStanding["checks"] => {
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

/** The newest review of each person that is more than a comment. */
export const deciding = (reviews: ReadonlyArray<RequestReview>): ReadonlyArray<RequestReview> => {
  const newest = new Map<string, RequestReview>()
  const inOrder = [...reviews].sort((one, other) => ((one.submitted_at ?? "") < (other.submitted_at ?? "") ? -1 : 1))
  for (const review of inOrder) if (review.state !== "commented") newest.set(review.author.login, review)
  return [...newest.values()]
}

const reviewSum = ({ headSha, reviews, unread }: Sighting): RequestStanding["reviews"] => {
  const last = deciding(reviews)
  return {
    state: unread.reviews === undefined ? "read" : "unreadable",
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
  ...(sums.reviews.changes_requested > 0 ? [waiting("changes_requested", "A reviewer asks for changes.")] : []),
  ...unreadable("threads_unreadable", "comments", given.unread.threads),
  ...(sums.threads.open > 0 ? [waiting("open_threads", "A thread about a line is not resolved.")] : [])
]

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
      ? unreadable("base_checks_unreadable", "checks of the base branch", given.unread.baseChecks)
      : []),
    ...(checks.pending > 0 ? [waiting("checks_pending", "A check has not ended.", named(isPending))] : []),
    ...(given.isComplete
      ? []
      : [waiting("checks_incomplete", "The forge has more checks than are read, so not all are known.")]),
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

export const waiting = (kind: WaitingFor["kind"], message: string, names: ReadonlyArray<string> = []): WaitingFor => ({
  kind,
  names: names.slice(0, mostNames),
  message
})
