import type { Forge } from "@reins/machine/forge/Forge"
import type { ForgeView } from "@reins/machine/forge/ForgeView"
import { Clock, Effect } from "effect"
import { type AskedWriters, isWriter } from "../looks/Writers.js"
import { conditionRows, type SeenForConditions } from "../rows/ConditionRows.js"
import type { MergeRequest } from "../rows/MergeRequest.js"
import { partReads } from "../rows/PartRows.js"

/** The rules of a forge are read again after so many milliseconds. */
const rulesMs = 10 * 60_000

/** The right of an account is asked for again after so many milliseconds. */
const rightMs = 60 * 60_000

/** So many approving accounts are asked for in a look. */
const mostAccounts = 20

/**
 * Gives the function that reads the facts which conditions need besides the view of a merge request. They are the demands of the forge, and the rights of
 * those who approve. Undefined where there are no conditions.
 */
export const makeConditionReads = Effect.gen(function* () {
  const rows = yield* conditionRows
  const { reviewsOf } = yield* partReads

  /** The accounts that approve, as the view or else the last one has them. */
  const approving = Effect.fnUntraced(function* (request: MergeRequest, { reviews }: ForgeView) {
    const all =
      reviews.state === "read"
        ? reviews.value.map(({ author, state }) => ({ login: author.login, state }))
        : (yield* reviewsOf(request.id)).map(({ author, state }) => ({ login: author.login, state }))
    const logins = all.flatMap(({ login, state }) => (state === "approved" ? [login] : []))
    return new Set(logins)
  })

  return Effect.fnUntraced(function* (forge: Forge, request: MergeRequest, view: ForgeView, asked: AskedWriters) {
    const row = yield* rows.find(request.id)
    if (row === undefined) return undefined
    const at = yield* Clock.currentTimeMillis
    const { rules, writers = {} } = row.seen
    const base = request.base_branch
    const isFresh = rules?.base === base && rules.demands !== undefined && at - rules.at < rulesMs
    const read = { rules: isFresh ? rules : { base, at, ...(yield* forge.rules(base)) } } satisfies SeenForConditions
    const wantsApprovals =
      row.shown.approvals > 0 ||
      read.rules.demands?.some(({ kind }) => kind === "approvals" || kind === "last_push") === true
    const known = new Map(Object.entries(asked).map(([login, { atMs, may }]) => [login, { may, at: atMs }] as const))
    let calls = 0
    for (const login of wantsApprovals ? yield* approving(request, view) : []) {
      if (known.has(login)) continue
      const before = Object.hasOwn(writers, login) ? writers[login] : undefined
      if (before !== undefined && at - before.at < rightMs) known.set(login, before)
      else if (calls++ < mostAccounts) known.set(login, { may: isWriter(yield* forge.access(login)), at })
    }
    return { ...read, writers: Object.fromEntries(known) } satisfies SeenForConditions
  })
})
