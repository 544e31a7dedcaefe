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
  /** True when the same check has failed on the base branch too; null when that is not known. */
  readonly onBase: boolean | null
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
  /** The branch that it is to be merged into. */
  readonly base: string
  /** True while the forge shows a head that is older than our last push. */
  readonly isBehind: boolean
  /** True while a turn of the session waits or runs. */
  readonly isBusy: boolean
  /** True when somebody has changed files of the session and not delivered them. */
  readonly isUndelivered: boolean
  /** Undefined when the forge does not show them all. */
  readonly checks: ReadonlyArray<SeenRed> | undefined
  /** The time of the first look since which no look could read the checks of the base branch. Null while they are read. */
  readonly baseUnreadSinceMs: number | null
  /** True when the forge can begin checks anew. */
  readonly canRerun: boolean
  readonly comments: ReadonlyArray<SeenComment>
  /** True when no check has ever reported, or a demanded one has not, although it would have by now. */
  readonly isSilent: boolean
  /** True when the forge says that it does not merge with its base branch. Git has to prove it. */
  readonly isConflicted: boolean
}

/** The facts that the rows hold. */
export interface CareMemory {
  /** The causes that had their turn. */
  readonly handled: ReadonlySet<string>
  /** The causes for which git has found no conflict, and when. */
  readonly clean: ReadonlyMap<string, number>
  /** The turns for this head that were given up before they began, as when git has another head than the forge. */
  readonly vain: { readonly count: number; readonly lastMs: number }
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
  readonly conflicts: "off" | "propose" | "fix"
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
      /** The causes that have to be gone after it: names of red checks, or the branch of a conflict. Null for comments alone. */
      readonly fingerprint: string | null
      /** The ids of the red checks. */
      readonly checks: ReadonlyArray<string>
      readonly comments: ReadonlyArray<string>
      /** True when it is about a conflict with the base branch, and about nothing else. */
      readonly isConflict: boolean
      /** True when a person delivers what the turn makes. */
      readonly proposes: boolean
    }

/** After the first red check the others of the head are waited for. */
const settleMs = 2 * 60_000
/** But no longer than this, while some run. */
const settleMostMs = 15 * 60_000
/** A reviewer may still be writing. */
const quietMs = 60_000
/** A conflict that git does not find is proved once more after so long, and then a person is asked. */
const proveAgainMs = 10 * 60_000
/** A turn that was given up before it began is tried again after so long, then after twice as long each time. */
const vainMs = 10_000
const vainMostMs = 10 * 60_000
const mostVain = 8

const wait = (untilMs?: number): CareStep => ({ do: "wait", ...(untilMs !== undefined && { untilMs }) })
const handOver = (reason: CareReason, causes: ReadonlyArray<string> = []): CareStep => ({
  do: "hand_over",
  reason,
  causes
})

export const decide = (seen: CareSeen, memory: CareMemory, rules: CareRules, nowMs: number): CareStep => {
  if (seen.isFork) return handOver("fork")
  const stops = seen.comments.filter((comment) => isStop(comment, rules, memory)).map(({ id }) => commentCause(id))
  if (stops.length > 0) return handOver("stopped_by_comment", stops)
  if (seen.isBehind || seen.isBusy) return wait()
  const step = stepOf(seen, memory, rules, nowMs)
  return step.do === "turn" ? (afterVain(memory, nowMs) ?? step) : step
}

/** The step that replaces a turn which was given up before it began. Undefined when the turn may be tried now. */
const afterVain = ({ vain: { count, lastMs } }: CareMemory, nowMs: number): CareStep | undefined => {
  if (count === 0) return undefined
  if (count >= mostVain) return handOver("head_keeps_moving")
  const untilMs = lastMs + Math.min(vainMostMs, vainMs * 2 ** (count - 1))
  return nowMs < untilMs ? wait(untilMs) : undefined
}

const stepOf = (seen: CareSeen, memory: CareMemory, rules: CareRules, nowMs: number): CareStep => {
  const counted = rules.reviews === "off" ? [] : seen.comments.filter((comment) => counts(comment, rules, memory))
  const conflict = rules.conflicts === "off" ? undefined : proofOf(seen, memory, nowMs)
  if (conflict !== undefined && "cause" in conflict)
    return (
      capOf(seen, memory, rules, conflictWith(seen.base)) ??
      aboutConflict(seen, conflict.cause, rules.conflicts === "propose")
    )
  const red = redOf(seen, memory, rules, nowMs)
  if (red !== undefined && "do" in red) return red
  const last = Math.max(...counted.map(({ writtenMs }) => writtenMs))
  // A time of a forge whose clock is ahead is no reason to wait.
  if (counted.length > 0 && last <= nowMs && nowMs < last + quietMs) return wait(last + quietMs)
  const causes = [...(red === undefined ? [] : [red.cause]), ...counted.map(({ id }) => commentCause(id))]
  if (causes.length === 0) return idle(seen, memory, rules, nowMs)
  const fingerprint = red?.fingerprint ?? null
  return (
    capOf(seen, memory, rules, fingerprint) ?? {
      do: "turn",
      causes: causes.sort(),
      fingerprint,
      checks: red?.ids ?? [],
      comments: counted.map(({ id }) => id),
      isConflict: false,
      proposes: (red !== undefined && rules.checks === "propose") || (counted.length > 0 && rules.reviews === "propose")
    }
  )
}

/** Why a person has to go on in the place of a turn; undefined for no reason. */
const capOf = (
  { isUndelivered }: CareSeen,
  { failures, isSpent, turns }: CareMemory,
  { max_turns }: CareRules,
  fingerprint: string | null
): CareStep | undefined => {
  if (turns >= max_turns) return handOver("turns_exhausted")
  if (isSpent) return handOver("budget_exhausted")
  if (fingerprint !== null && failures.filter((known) => known === fingerprint).length >= 2)
    return handOver("same_failure")
  return isUndelivered ? handOver("undelivered_changes") : undefined
}

/** The fingerprint of a conflict with a base branch. */
export const conflictWith = (base: string): string => `conflict:${base}`

/**
 * The conflict that git has to prove, before a turn or a person. It goes before checks, because some forges start none while there is one. `againMs` is
 * the time at which that is looked at once more, after git has found none; 0 when it was proved. Undefined for no conflict.
 */
const proofOf = (
  { base, head, isConflicted }: CareSeen,
  { clean, handled }: CareMemory,
  nowMs: number
): { readonly cause: string } | { readonly againMs: number } | undefined => {
  if (!isConflicted) return undefined
  const first = `conflict:${head}:${base}`
  for (const cause of [first, `${first}:again`]) {
    if (!handled.has(cause)) return { cause }
    const cleanMs = clean.get(cause)
    if (cleanMs === undefined) break
    if (nowMs < cleanMs + proveAgainMs) return { againMs: cleanMs + proveAgainMs }
  }
  return { againMs: 0 }
}

/** Has git prove a conflict. A turn follows where the policy wants one. */
const aboutConflict = ({ base }: CareSeen, cause: string, proposes: boolean): CareStep => ({
  do: "turn",
  causes: [cause],
  fingerprint: conflictWith(base),
  checks: [],
  comments: [],
  isConflict: true,
  proposes
})

const stopWord = /^\/reins stop[ \t]*\r?$/m

export const commentCause = (id: string): string => `comment:${id}`

const isNew = (comment: SeenComment, { handled }: CareMemory): boolean =>
  !comment.isOurs && !comment.isResolved && !handled.has(commentCause(comment.id))

/** The comments that may cost a turn: those of people who may write to the repository, and of bots that the policy names. */
const counts = (comment: SeenComment, { bots }: CareRules, memory: CareMemory): boolean =>
  isNew(comment, memory) && (bots.includes(comment.author.login) || (!comment.author.isBot && comment.author.mayWrite))

/** The comments that end the care, whatever it is for. A bot may repeat the words of anybody. */
const isStop = (comment: SeenComment, { bots }: CareRules, memory: CareMemory): boolean =>
  isNew(comment, memory) &&
  !comment.author.isBot &&
  comment.author.mayWrite &&
  !bots.includes(comment.author.login) &&
  stopWord.test(comment.body)

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
  // This change did not break what is broken without it.
  const failed = all.filter(({ onBase, state }) => state === "failing" && onBase !== true)
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
  // The base branch may be the cause, which nobody could read a moment ago.
  const readMs = (seen.baseUnreadSinceMs ?? Number.NEGATIVE_INFINITY) + settleMostMs
  if (nowMs < readMs && failed.some(({ onBase }) => onBase === null)) return wait(readMs)
  const untried = rules.rerun_first && seen.canRerun ? failed.filter((check) => !wasRerun(check)) : []
  if (untried.length > 0) return again(untried)
  const fingerprint = [...new Set(failed.map(({ name }) => name))].sort().join(",")
  const cause = `checks:${seen.head}:${fingerprint}`
  return memory.handled.has(cause) ? undefined : { cause, fingerprint, ids: failed.map(({ id }) => id) }
}

const idle = (seen: CareSeen, memory: CareMemory, rules: CareRules, nowMs: number): CareStep => {
  const { baseUnreadSinceMs, checks, isSilent } = seen
  // Some forges start no check while there is a conflict, which looks like waiting.
  const isCared = rules.checks !== "off" || rules.reviews !== "off" || rules.conflicts !== "off"
  const conflict = isCared ? proofOf(seen, memory, nowMs) : undefined
  if (conflict !== undefined) {
    if ("cause" in conflict) return aboutConflict(seen, conflict.cause, false)
    return nowMs < conflict.againMs ? wait(conflict.againMs) : handOver("merge_conflict")
  }
  // Nothing else is waited for, so the care would wait for ever.
  if (isSilent && rules.checks !== "off" && rules.reviews === "off" && rules.conflicts === "off")
    return handOver("checks_do_not_run")
  // The base branch is for others to mend. Only comments and conflicts are still to come.
  const isAlone = rules.reviews === "off" && rules.conflicts === "off"
  const isRedOnBase = isAlone && baseUnreadSinceMs === null && (checks ?? []).some(isBroken)
  const held = (checks ?? []).filter(({ optional, state }) => !optional && state === "action_required")
  const isPending = (checks ?? []).some(({ state }) => state === "pending")
  if (rules.checks === "off" || isPending) return wait()
  if (held.length > 0) return handOver("checks_need_approval")
  return isRedOnBase ? handOver("red_on_base") : wait()
}

/** True for a check that has failed on the base branch too. */
const isBroken = ({ onBase, optional, state }: SeenRed): boolean => !optional && state === "failing" && onBase === true
