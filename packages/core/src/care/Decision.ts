import type { CareReason } from "./Care.js"

// Decides what to do about a merge request, from what was read of it and what is written down. Times are milliseconds since 1970.

/** A check of the head. */
export interface SeenRed {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly state: "pending" | "passing" | "failing" | "cancelled" | "skipped" | "action_required"
  /** True when the forge lets it fail. */
  readonly optional: boolean
  /** Null where the forge does not tell. */
  readonly endedMs: number | null
}

/** A comment, or a review with words. */
export interface SeenComment {
  readonly id: string
  readonly author: { readonly login: string; readonly isBot: boolean; readonly mayWrite: boolean }
  readonly isOurs: boolean
  readonly isResolved: boolean
  readonly writtenMs: number
  readonly body: string
}

/** The facts that a look has read. */
export interface CareSeen {
  readonly isFork: boolean
  readonly head: string
  /** True while the forge shows a head that is older than our last push. */
  readonly isBehind: boolean
  /** True while a turn of the session waits or runs. */
  readonly isBusy: boolean
  /** True when somebody has changed files of the session and not delivered them. */
  readonly isUndelivered: boolean
  /** Undefined when the forge does not show them all. */
  readonly checks: ReadonlyArray<SeenRed> | undefined
  /** True when the forge can begin checks anew. */
  readonly canRerun: boolean
  readonly comments: ReadonlyArray<SeenComment>
  /** True when it does not merge with its base branch. */
  readonly isConflicted: boolean
}

/** The facts that the rows hold. */
export interface CareMemory {
  /** The causes that had their turn. */
  readonly handled: ReadonlySet<string>
  /** The checks that were begun anew, each with its head. */
  readonly reruns: ReadonlySet<string>
  /** The red checks before each turn. */
  readonly failures: ReadonlyArray<string>
  readonly turns: number
  /** True when the budget is used up. */
  readonly isSpent: boolean
}

/** The part of a policy that decides. */
export interface CareRules {
  readonly checks: "off" | "propose" | "fix"
  readonly reviews: "off" | "propose" | "fix"
  readonly max_turns: number
  readonly rerun_first: boolean
  readonly bots: ReadonlyArray<string>
}

export type CareStep =
  | { readonly do: "wait"; readonly untilMs?: number }
  | { readonly do: "rerun"; readonly checks: ReadonlyArray<string>; readonly keys: ReadonlyArray<string> }
  | {
      readonly do: "hand_over"
      readonly reason: CareReason
      /** The causes that have led to it, which count no more. */
      readonly causes: ReadonlyArray<string>
    }
  | {
      readonly do: "turn"
      readonly causes: ReadonlyArray<string>
      /** The names of the red checks; null for none. */
      readonly fingerprint: string | null
      /** The ids of the red checks. */
      readonly checks: ReadonlyArray<string>
      readonly comments: ReadonlyArray<string>
      /** True when a person delivers what the turn makes. */
      readonly proposes: boolean
    }

/** After the first red check the others of the head are waited for. */
const settleMs = 2 * 60_000
/** But no longer than this, while some run. */
const settleMostMs = 15 * 60_000
/** A reviewer may still be writing. */
const quietMs = 60_000

const wait = (untilMs?: number): CareStep => ({ do: "wait", ...(untilMs !== undefined && { untilMs }) })
const handOver = (reason: CareReason, causes: ReadonlyArray<string> = []): CareStep => ({
  do: "hand_over",
  reason,
  causes
})

export const decide = (seen: CareSeen, memory: CareMemory, rules: CareRules, nowMs: number): CareStep => {
  if (seen.isFork) return handOver("fork")
  const counted = rules.reviews === "off" ? [] : seen.comments.filter((comment) => counts(comment, rules, memory))
  const stops = counted.filter(({ body }) => stopWord.test(body)).map(({ id }) => commentCause(id))
  if (stops.length > 0) return handOver("stopped_by_comment", stops)
  if (seen.isBehind || seen.isBusy) return wait()
  const red = redOf(seen, memory, rules, nowMs)
  if (red !== undefined && "do" in red) return red
  const last = Math.max(...counted.map(({ writtenMs }) => writtenMs))
  // A time of a forge whose clock is ahead is no reason to wait.
  if (counted.length > 0 && last <= nowMs && nowMs < last + quietMs) return wait(last + quietMs)
  const causes = [...(red === undefined ? [] : [red.cause]), ...counted.map(({ id }) => commentCause(id))]
  if (causes.length === 0) return idle(seen, rules)
  if (memory.turns >= rules.max_turns) return handOver("turns_exhausted")
  if (memory.isSpent) return handOver("budget_exhausted")
  if (red !== undefined && memory.failures.filter((known) => known === red.fingerprint).length >= 2)
    return handOver("same_failure")
  if (seen.isUndelivered) return handOver("undelivered_changes")
  return {
    do: "turn",
    causes: causes.sort(),
    fingerprint: red?.fingerprint ?? null,
    checks: red?.ids ?? [],
    comments: counted.map(({ id }) => id),
    proposes: (red !== undefined && rules.checks === "propose") || (counted.length > 0 && rules.reviews === "propose")
  }
}

const stopWord = /^\/reins stop[ \t]*\r?$/m

export const commentCause = (id: string): string => `comment:${id}`

/** The comments that may cost a turn: those of people who may write to the repository, and of bots that the policy names. */
const counts = (comment: SeenComment, { bots }: CareRules, { handled }: CareMemory): boolean =>
  !comment.isOurs &&
  !comment.isResolved &&
  !handled.has(commentCause(comment.id)) &&
  (comment.author.isBot ? bots.includes(comment.author.login) : comment.author.mayWrite)

interface Red {
  readonly cause: string
  readonly fingerprint: string
  readonly ids: ReadonlyArray<string>
}

const rerunKey = (head: string, { key }: SeenRed): string => `${key}@${head}`

/** The red checks that a turn is due for, or what has to be done first; undefined for neither. */
const redOf = (seen: CareSeen, memory: CareMemory, rules: CareRules, nowMs: number): Red | CareStep | undefined => {
  if (rules.checks === "off") return undefined
  const all = (seen.checks ?? []).filter(({ optional }) => !optional)
  const failed = all.filter(({ state }) => state === "failing")
  const isPending = all.some(({ state }) => state === "pending")
  const wasRerun = (check: SeenRed) => memory.reruns.has(rerunKey(seen.head, check))
  const again = (checks: ReadonlyArray<SeenRed>): CareStep => ({
    do: "rerun",
    checks: checks.map(({ id }) => id),
    keys: checks.map((check) => rerunKey(seen.head, check))
  })
  if (failed.length === 0) {
    // Nobody's code is at fault, so that costs no turn.
    const stuck = isPending ? [] : all.filter(({ state }) => state === "cancelled")
    if (stuck.length === 0) return undefined
    return seen.canRerun && !stuck.some(wasRerun) ? again(stuck) : handOver("checks_do_not_run")
  }
  const first = Math.min(...failed.map(({ endedMs }) => endedMs ?? nowMs - settleMs))
  const settledMs = first + (isPending ? settleMostMs : settleMs)
  if (nowMs < settledMs && first <= nowMs) return wait(settledMs)
  const untried = rules.rerun_first && seen.canRerun ? failed.filter((check) => !wasRerun(check)) : []
  if (untried.length > 0) return again(untried)
  const fingerprint = [...new Set(failed.map(({ name }) => name))].sort().join(",")
  const cause = `checks:${seen.head}:${fingerprint}`
  return memory.handled.has(cause) ? undefined : { cause, fingerprint, ids: failed.map(({ id }) => id) }
}

const idle = ({ checks, isConflicted }: CareSeen, rules: CareRules): CareStep => {
  // Some forges start no check while there is a conflict, which looks like waiting.
  if (isConflicted && (rules.checks !== "off" || rules.reviews !== "off")) return handOver("merge_conflict")
  const held = (checks ?? []).filter(({ optional, state }) => !optional && state === "action_required")
  const isPending = (checks ?? []).some(({ state }) => state === "pending")
  return rules.checks !== "off" && held.length > 0 && !isPending ? handOver("checks_need_approval") : wait()
}
