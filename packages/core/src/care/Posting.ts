import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import { JobStore } from "../jobs/JobStore.js"
import type { MergeRequest } from "../requests/rows/MergeRequest.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { type AttentionRow, type CareRow, CareStore, policyOf } from "./CareStore.js"

/** The kind of the job that writes a comment. */
export const replyJobKind = "care.reply"

/** Gives the function that has a comment written once for an id, where the policy wants comments. */
export const makePost = Effect.gen(function* () {
  const store = yield* CareStore
  const jobs = yield* JobStore
  const sessions = yield* SessionStore

  return Effect.fnUntraced(function* (
    request: MergeRequest,
    row: CareRow,
    given: { readonly id: string; readonly attention: AttentionRow | undefined; readonly text: string }
  ) {
    if (policyOf(row).reply === "off" || request.number === null) return
    const session = yield* sessions.find(request.session_id)
    if (session === undefined) return
    const isNew = yield* store.post({
      id: given.id,
      merge_request_id: request.id,
      attention_id: given.attention?.id ?? null,
      // Nobody can guess it, so nobody can have written it before.
      mark: randomBytes(16).toString("hex"),
      text: given.text
    })
    if (!isNew) return
    yield* jobs.enqueue({
      kind: replyJobKind,
      subject: { type: "merge_request", id: request.id },
      workspaceId: session.workspace_id,
      payload: { post_id: given.id },
      maxAttempts: 8
    })
  })
})
