import type { WorkspaceId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import type { Changeset } from "../changes/Changeset.js"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import { DeliveryStore } from "../deliveries/DeliveryStore.js"
import { JobStore } from "../jobs/JobStore.js"
import type { MergeRequest } from "../requests/rows/MergeRequest.js"
import { MergeRequestStore } from "../requests/rows/MergeRequestStore.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Turn } from "../sessions/rows/Turn.js"
import { type AttentionRow, type CareRow, CareStore, policyOf } from "./CareStore.js"
import { followRows } from "./FollowRows.js"
import { newAttention } from "./NewAttention.js"

/** The kind of the job that has the work of a turn delivered which care did not begin. */
export const followJobKind = "care.follow"

/** True for a care that delivers the work of every turn. */
export const followsTurns = (row: CareRow): boolean => policyOf(row).deliver === "every_turn"

/** Gives the function that lets the work of a turn wait for its delivery, unless that work is delivered or waits already. */
const makeWait = Effect.gen(function* () {
  const store = yield* CareStore
  const deliveries = yield* DeliveryStore
  const { newestTree } = yield* followRows
  return Effect.fnUntraced(function* (request: MergeRequest, row: CareRow, { id: changesetId, tree }: Changeset) {
    const [last] = yield* deliveries.pushedTo(request.session_id, request.head_branch)
    if (last === undefined || changesetId <= last.delivery.changeset_id) return
    if (tree === ((yield* newestTree(request.id)) ?? last.tree)) return
    const attention = yield* newAttention(request, row, {
      head_sha: request.head_sha ?? last.delivery.commit ?? "",
      fingerprint: null,
      causes: "[]",
      changeset_id: changesetId,
      follows: 1
    })
    yield* store.attend(attention, [])
  })
})

/** Gives the function that enqueues the job for the work of a turn. */
export const makeFollowLater = Effect.map(
  JobStore,
  (jobs) =>
    ({ id, session_id }: Pick<AttentionRow, "id" | "session_id">, workspaceId: WorkspaceId) =>
      jobs.enqueue({
        kind: followJobKind,
        subject: { type: "attention", id },
        workspaceId,
        payload: {},
        filesOf: session_id,
        maxAttempts: 8
      })
)

/**
 * Gives the function that begins the delivery of the oldest work that waits, once the care is free. A proposal that waits for a person makes way,
 * because the files of later work hold it. The commit holds the session and the care.
 */
export const makeGoOn = Effect.gen(function* () {
  const store = yield* CareStore
  const sessions = yield* SessionStore
  const followLater = yield* makeFollowLater
  const { waiting } = yield* followRows
  return Effect.fnUntraced(function* (request: MergeRequest, row: CareRow) {
    const current = row.attention_id === null ? undefined : yield* store.attention(row.attention_id)
    const isFree = row.state === "watching" || (row.state === "working" && current?.state === "proposed")
    if (!isFree || !followsTurns(row)) return row
    const [next] = yield* waiting(request.id)
    const session = yield* sessions.find(request.session_id)
    if (next === undefined || session === undefined) return row
    if (current?.state === "proposed") yield* store.move(current, "superseded")
    yield* store.move(next, "delivering")
    yield* followLater(next, session.workspace_id)
    return yield* store.change(row, { state: "working", attention_id: next.id })
  })
})

/** Gives what follows from the end of a turn that care did not begin. Each merge request whose care says so gets its work. */
export const makeFollowTurn = Effect.gen(function* () {
  const store = yield* CareStore
  const requests = yield* MergeRequestStore
  const changesets = yield* ChangesetStore
  const { caredOf, newestWork } = yield* followRows
  const wait = yield* makeWait
  const goOn = yield* makeGoOn
  return Effect.fnUntraced(function* (turn: Turn) {
    const made = yield* newestWork(turn.session_id, turn.id)
    const changeset = made && (yield* changesets.find(made))
    if (changeset === undefined) return
    for (const id of yield* caredOf(turn.session_id)) {
      const row = yield* store.lock(id)
      const request = yield* requests.find(id)
      if (row === undefined || request === undefined || !followsTurns(row)) continue
      yield* wait(request, row, changeset)
      yield* goOn(request, row)
    }
  })
})

/** Gives the function that has the newest work delivered which a care has not turned to. Turns made it before somebody put the care. */
export const makeCatchUp = Effect.gen(function* () {
  const changesets = yield* ChangesetStore
  const { isKnown, newestWork, waiting } = yield* followRows
  const wait = yield* makeWait
  const goOn = yield* makeGoOn
  return Effect.fnUntraced(function* (request: MergeRequest, row: CareRow, session: SessionRow) {
    if (row.state !== "watching" || !followsTurns(row)) return row
    if ((yield* waiting(request.id)).length === 0) {
      const newest = yield* newestWork(session.id)
      const changeset = newest && !(yield* isKnown(row, newest)) ? yield* changesets.find(newest) : undefined
      if (changeset !== undefined) yield* wait(request, row, changeset)
    }
    return yield* goOn(request, row)
  })
})

/** Gives the function that lets no earlier work wait any more. A later PUT of the care delivers the newest work. */
export const makeForgetWaiting = Effect.gen(function* () {
  const store = yield* CareStore
  const { waiting } = yield* followRows
  return Effect.fnUntraced(function* (id: MergeRequest["id"]) {
    for (const attention of yield* waiting(id)) yield* store.move(attention, "superseded")
  })
})
