import { Effect } from "effect"
import * as Memberships from "../access/Memberships.js"
import { careMailTo } from "../identity/MailJob.js"
import { JobStore } from "../jobs/JobStore.js"
import type { MergeRequest } from "../requests/rows/MergeRequest.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Database } from "../store/Database.js"
import type { CareReason } from "./Care.js"
import { type AttentionRow, type CareRow, CareStore } from "./CareStore.js"
import { makeForgetWaiting } from "./EveryTurn.js"
import { makePost } from "./Posting.js"
import { reasonMessages } from "./Reasons.js"

/**
 * Gives the function that hands a merge request over to a person. The care and its attention end, and the workspace is told. The account that it acts for
 * gets a mail, and the merge request a comment. Owners get the mail where that account has lost its rights.
 */
export const makeHandOver = Effect.gen(function* () {
  const store = yield* CareStore
  const db = yield* Database
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const post = yield* makePost
  const forgetWaiting = yield* makeForgetWaiting

  const mail = Effect.fnUntraced(function* (request: MergeRequest, row: CareRow, reason: CareReason) {
    const session = yield* sessions.find(request.session_id)
    if (session === undefined) return
    const people =
      reason === "owner_lost_access" ? yield* Memberships.ownersOf(db, session.workspace_id) : [row.acts_for]
    const about = { id: request.id, title: request.title, reason: reasonMessages[reason] }
    yield* Effect.forEach(new Set(people), (id) => jobs.enqueue(careMailTo(id, about)), { discard: true })
  })

  return Effect.fnUntraced(function* (
    request: MergeRequest,
    row: CareRow,
    reason: CareReason,
    attention?: AttentionRow
  ) {
    // A proposal stays for a person.
    if (attention !== undefined && attention.state !== "proposed") yield* store.move(attention, "failed", { reason })
    yield* forgetWaiting(request.id)
    const handed = yield* store.change(row, { state: "handed_over", reason, attention_id: null })
    yield* store.tell(request, handed, "merge_request.care_handed_over", attention)
    yield* mail(request, handed, reason)
    yield* post(request, handed, {
      id: `${request.id}:${handed.version}`,
      attention,
      text: `Reins leaves this to a person now. ${reasonMessages[reason]}`
    })
    return handed
  })
})
