import { Effect } from "effect"
import type { MergeRequest } from "../requests/rows/MergeRequest.js"
import { MergeRequestStore } from "../requests/rows/MergeRequestStore.js"
import { WatchStore } from "../requests/rows/WatchStore.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { AttentionState, CareReason } from "./Care.js"
import { type AttentionRow, type CareRow, CareStore } from "./CareStore.js"
import { makeGoOn } from "./EveryTurn.js"
import { makeHandOver } from "./HandOver.js"

/** An attention that is worked on, with the rows that it is about. */
export interface CareWork {
  readonly attention: AttentionRow
  readonly request: MergeRequest
  readonly row: CareRow
  readonly session: SessionRow
}

/** Gives the function that finds an attention in a state that its care works on. Undefined when either has moved on. */
export const makeFindWork = Effect.gen(function* () {
  const store = yield* CareStore
  const requests = yield* MergeRequestStore
  const sessions = yield* SessionStore
  return Effect.fnUntraced(function* (id: string, state: AttentionState) {
    const attention = yield* store.attention(id)
    if (attention?.state !== state) return undefined
    const request = yield* requests.find(attention.merge_request_id)
    const row = yield* store.find(attention.merge_request_id)
    const session = yield* sessions.find(attention.session_id)
    if (request?.state !== "open" || row === undefined || session === undefined) return undefined
    if (row.state !== "working" || row.attention_id !== attention.id) return undefined
    const work: CareWork = { attention, request, row, session }
    return work
  })
})

/**
 * Gives the commit that ends the work of a care. It hands over for a reason. Without one the causes count again at a look that comes at once, unless
 * they are kept as done. It does nothing when the care has moved on.
 */
export const makeEndWork = Effect.gen(function* () {
  const store = yield* CareStore
  const sessions = yield* SessionStore
  const watches = yield* WatchStore
  const find = yield* makeFindWork
  const handOver = yield* makeHandOver
  const goOn = yield* makeGoOn
  return Effect.fnUntraced(function* (
    id: string,
    reason: CareReason | undefined,
    { keepsCauses = false }: { readonly keepsCauses?: boolean } = {}
  ) {
    const known = yield* store.attention(id)
    if (known === undefined) return
    yield* sessions.lock(known.session_id)
    yield* store.lock(known.merge_request_id)
    const now = yield* store.attention(id)
    const work = now && (yield* find(id, now.state))
    if (work === undefined) return
    const { attention, request, row } = work
    if (reason !== undefined) return yield* Effect.asVoid(handOver(request, row, reason, attention))
    if (!keepsCauses) yield* store.forget(attention.id)
    yield* store.move(attention, "superseded")
    yield* goOn(request, yield* store.change(row, { state: "watching", attention_id: null }))
    yield* watches.ring(request.id, false)
  })
})
