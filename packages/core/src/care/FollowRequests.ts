import { keyOf } from "@reins/base/domain/Principal"
import { Effect } from "effect"
import type { MergeRequest } from "../requests/rows/MergeRequest.js"
import { MergeRequestStore } from "../requests/rows/MergeRequestStore.js"
import { RequestListeners } from "../requests/rows/RequestListeners.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { attentionStates, type CareEnd } from "./Care.js"
import { type CareRow, CareStore, policyIn } from "./CareStore.js"
import { makeDeciding } from "./Deciding.js"
import { makeForgetWaiting } from "./EveryTurn.js"
import { makeHandOver } from "./HandOver.js"

/** Lets the care follow its merge request, in the commits that change it. */
export const followRequests = Effect.gen(function* () {
  const listeners = yield* RequestListeners
  const store = yield* CareStore
  const sessions = yield* SessionStore
  const requests = yield* MergeRequestStore
  const looked = yield* makeDeciding
  const handOver = yield* makeHandOver
  const end = yield* makeEnd
  yield* listeners.register({
    looked,
    requested: Effect.fnUntraced(function* (request, by, care) {
      if (care === undefined) return
      yield* store.begin(request, { acts_for: by.accountId, api_key_id: keyOf(by), policy: policyIn(care) })
    }),
    ended: Effect.fnUntraced(function* (request) {
      const row = yield* store.lock(request.id)
      if (row === undefined || row.state === "ended") return
      yield* Effect.asVoid(end.care(request, row, request.state === "merged" ? "merged" : "closed"))
    }),
    refused: Effect.fnUntraced(function* ({ id, session_id: sessionId }, reason) {
      yield* sessions.lock(sessionId)
      const row = yield* store.lock(id)
      const request = yield* requests.find(id)
      // A turn or a delivery that is under way meets the same refusal by itself.
      if (row?.state === "watching" && request !== undefined) yield* handOver(request, row, reason)
    }),
    // Any of them may stop it, whatever it is for.
    wantsWriters: ({ id }) =>
      Effect.map(store.find(id), (row) => row !== undefined && row.state !== "ended" && row.state !== "handed_over")
  })
})

/** The ends of a care that nobody hands over. */
export const makeEnd = Effect.gen(function* () {
  const store = yield* CareStore
  const forgetWaiting = yield* makeForgetWaiting
  /** Lets what is under way go on for itself. */
  const attention = Effect.fnUntraced(function* ({ attention_id }: CareRow) {
    const found = attention_id === null ? undefined : yield* store.attention(attention_id)
    if (found !== undefined && !attentionStates.isTerminal(found.state)) yield* store.move(found, "superseded")
  })
  return {
    attention,
    care: Effect.fnUntraced(function* (request: MergeRequest, row: CareRow, reason: CareEnd) {
      yield* attention(row)
      yield* forgetWaiting(request.id)
      const ended = yield* store.change(row, { state: "ended", reason, attention_id: null })
      yield* store.tell(request, ended, "merge_request.care_ended")
      return ended
    })
  }
})
