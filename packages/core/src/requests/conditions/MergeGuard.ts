import { Clock, Effect } from "effect"
import { systemActor } from "../../access/Access.js"
import type { JobFailure } from "../../jobs/Job.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { conditionRows, movedTo } from "../rows/ConditionRows.js"
import { unmet } from "../rows/MergeConditions.js"
import type { MergeRequest } from "../rows/MergeRequest.js"
import { MergeRequestStore } from "../rows/MergeRequestStore.js"
import { WatchStore } from "../rows/WatchStore.js"
import { makeConditionMoves, mergeRightLost } from "./Advance.js"
import { makeMayChange } from "./FactReads.js"

const actor = systemActor("merge_requests")

/** So many refusals of one head end the conditions. */
const mostRefusals = 3

/** The failures of a merge that pass without anybody's help, or with another head. */
const passing: ReadonlySet<string> = new Set(["remote_head_changed", "rate_limited", "remote_unavailable", "timeout"])

/** Gives what a merge asks the conditions that it was begun by, which a round names. */
export const makeMergeGuard = Effect.gen(function* () {
  const rows = yield* conditionRows
  const sessions = yield* SessionStore
  const store = yield* MergeRequestStore
  const watches = yield* WatchStore
  const mayChange = yield* makeMayChange
  const { giveUp } = yield* makeConditionMoves

  const ofRound = Effect.fnUntraced(function* (request: Pick<MergeRequest, "id">, round: number) {
    const row = yield* rows.hold(request.id)
    return row?.round === round && row.shown.state === "merging" ? row : undefined
  })

  return {
    /** The reason for which a merge may not go on; undefined when it may. */
    stop: Effect.fnUntraced(function* (request: MergeRequest, round: number) {
      const row = yield* ofRound(request, round)
      if (row === undefined) return conditionsChanged
      const session = yield* sessions.find(request.session_id)
      if (session !== undefined && (yield* mayChange(row, session))) return undefined
      yield* giveUp(row, "owner_lost_access", mergeRightLost)
      return ownerLost
    }),
    /** Writes down that a merge request was not merged, so that its conditions wait again or are given up. */
    declined: Effect.fnUntraced(function* (request: MergeRequest, round: number, { code, message }: JobFailure) {
      const row = yield* ofRound(request, round)
      if (row === undefined) return
      const waiting = { waiting_for: [unmet("forge", message)] }
      const head = row.shown.head_sha ?? ""
      const before = row.seen.refused?.head === head ? row.seen.refused.count : 0
      const refusals = passing.has(code) ? before : before + 1
      const refused = { head, count: refusals, at: yield* Clock.currentTimeMillis }
      const seen = { ...row.seen, ...(refusals > 0 && { refused }) }
      if (refusals >= mostRefusals) {
        const shown = { ...row.shown, ...waiting, refusals }
        return yield* giveUp({ ...row, seen, shown }, "forge_refused", `${refusedThrice} ${message}`)
      }
      yield* rows.write({ ...movedTo(row, "waiting", { ...waiting, refusals }), seen })
      yield* store.conditioned(row.id, [], actor)
      yield* watches.ring(row.id, false)
    })
  }
})

const refusedThrice = `The forge has declined to merge this head ${mostRefusals} times although the conditions held. Set them again once it would.`

const conditionsChanged = {
  code: "conditions_changed",
  message: "The conditions were set anew or taken back before the merge, so nothing was merged."
}

const ownerLost = { code: "owner_lost_access", message: mergeRightLost }
