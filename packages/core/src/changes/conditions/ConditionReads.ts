import { Clock, Effect } from "effect"
import type { Forge } from "../../forge/Forge.js"
import type { ForgeView } from "../../forge/ForgeView.js"
import { partReads } from "../looks/PartRows.js"
import type { MergeRequest } from "../MergeRequest.js"
import { conditionRows, type SeenForConditions } from "./ConditionRows.js"

/** The rules of a forge are read again after so many milliseconds. */
const rulesMs = 10 * 60_000

/** The right of an account is asked for again after so many milliseconds. */
const rightMs = 60 * 60_000

/** So many approving accounts are asked for in a look. */
const mostAccounts = 20

/**
 * Gives the function that reads the facts which conditions need besides the view of a merge request. They are the demanded checks, and the rights of those
 * who approve. Undefined where there are no conditions.
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

  return Effect.fnUntraced(function* (forge: Forge, request: MergeRequest, view: ForgeView) {
    const row = yield* rows.find(request.id)
    if (row === undefined) return undefined
    const at = yield* Clock.currentTimeMillis
    const { rules, writers = {} } = row.seen
    const base = request.base_branch
    const isFresh = rules?.base === base && at - rules.at < rulesMs
    const read: SeenForConditions = {
      ...(row.shown.checks === "required" && {
        rules: isFresh ? rules : { base, at, requiredChecks: (yield* forge.rules(base)).requiredChecks }
      })
    }
    if (row.shown.approvals === 0) return read
    const known = new Map<string, { readonly may: boolean; readonly at: number }>()
    let asked = 0
    for (const login of yield* approving(request, view)) {
      const before = Object.hasOwn(writers, login) ? writers[login] : undefined
      if (before !== undefined && at - before.at < rightMs) known.set(login, before)
      else if (asked++ < mostAccounts) known.set(login, { may: (yield* forge.access(login)) === "write", at })
    }
    return { ...read, writers: Object.fromEntries(known) } satisfies SeenForConditions
  })
})
