import {
  type CareMemory,
  type CareRules,
  type CareSeen,
  decide,
  type SeenComment,
  type SeenRed
} from "@reins/core/care/Decision"

export const rules: CareRules = {
  checks: "fix",
  reviews: "fix",
  conflicts: "off",
  max_turns: 3,
  rerun_first: false,
  bots: ["lint[bot]"]
}
export const conflicts = { conflicts: "fix" } as const
export const later = 60 * 60_000

export const seen = (more: Partial<CareSeen> = {}): CareSeen => ({
  isFork: false,
  head: "h1",
  base: "main",
  isBehind: false,
  isBusy: false,
  isUndelivered: false,
  checks: [],
  baseUnreadSinceMs: null,
  canRerun: true,
  comments: [],
  isSilent: false,
  isConflicted: false,
  ...more
})
export const memory = (more: Partial<CareMemory> = {}): CareMemory => ({
  handled: new Set(),
  clean: new Map(),
  vain: { count: 0, lastMs: 0 },
  reruns: new Set(),
  failures: [],
  turns: 0,
  isSpent: false,
  ...more
})
export const red = (more: Partial<SeenRed> = {}): SeenRed => ({
  id: "chk_1",
  key: "run:test",
  name: "test",
  state: "failing",
  optional: false,
  onBase: null,
  endedMs: 1_000,
  ...more
})
export const comment = (more: Partial<SeenComment> = {}, author: Partial<SeenComment["author"]> = {}): SeenComment => ({
  id: "7",
  author: { login: "ann", isBot: false, mayWrite: true, ...author },
  isOurs: false,
  isResolved: false,
  writtenMs: 0,
  body: "rename it",
  ...more
})
export const stranger = { login: "eve", mayWrite: false }

/** The decision, in one word. */
export const told = (now: CareSeen, known = memory(), policy: Partial<CareRules> = {}, nowMs = later): string => {
  const step = decide(now, known, { ...rules, ...policy }, nowMs)
  return step.do === "turn" ? step.causes.join(" ") : step.do === "hand_over" ? step.reason : step.do
}

/** Git has found no conflict so many minutes ago, once or twice. */
export const unfound = (...minutes: ReadonlyArray<number>): CareMemory => {
  const causes = ["conflict:h1:main", "conflict:h1:main:again"]
  const clean = new Map(minutes.map((ago, at) => [causes[at] ?? "", later - ago * 60_000]))
  return memory({ clean, handled: new Set(clean.keys()) })
}

/** Turns that were given up before they began, the last one so many milliseconds ago. */
export const vain = (count: number, agoMs: number) => memory({ vain: { count, lastMs: later - agoMs } })
