import { requireAll } from "@reins/base/domain/Condition"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { Forges } from "@reins/machine/forge/Forges"
import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied } from "../access/Access.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import { JobStore } from "../jobs/JobStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { makeAnswer } from "./MergeRequestAnswers.js"
import type { ReadinessInput, ReplyInput } from "./RequestInputs.js"
import type { MergeRequestAnswer } from "./RequestsApi.js"
import type { MergeRequest } from "./rows/MergeRequest.js"
import { readinessJobKind, replyRequestJobKind } from "./rows/MergeRequestJobs.js"
import { canSetReadiness, mergeRequestRules } from "./rows/MergeRequestRules.js"
import { MergeRequestStore } from "./rows/MergeRequestStore.js"
import { partReads } from "./rows/PartRows.js"
import { requestReplies } from "./rows/RequestReplies.js"

type ActRefusal = Denied | ReinsError<"invalid_transition" | "connection_required">

/**
 * People act on an open merge request through its connection. Each command gives back the merge request as it was last seen, with the job that asks
 * the forge. Both fail with `invalid_transition` unless the merge request is open, and with `connection_required` unless its connection is active.
 */
export class RequestActs extends Context.Tag("@reins/core/requests/RequestActs")<
  RequestActs,
  {
    /**
     * Makes a merge request a draft, or ready for review. The last word counts, and one that is so already is left alone. Fails with
     * `unsupported_capability` for a forge without drafts.
     */
    readonly setReadiness: (
      principal: Principal,
      mergeRequestId: string,
      input: ReadinessInput
    ) => Command<MergeRequestAnswer, ActRefusal | ReinsError<"unsupported_capability">>
    /** Writes a comment once. Fails with `not_found` for a thread of another merge request. */
    readonly reply: (
      principal: Principal,
      mergeRequestId: string,
      input: ReplyInput
    ) => Command<MergeRequestAnswer, ActRefusal>
  }
>() {
  static readonly layer = Layer.effect(
    RequestActs,
    Effect.gen(function* () {
      const journal = yield* Journal
      const setReadiness = yield* makeSetReadiness
      const reply = yield* makeReply
      return RequestActs.of({
        setReadiness: (principal, id, input) =>
          journal.command(
            "RequestActs.setReadiness",
            { by: principal, about: { type: "merge_request", id } },
            setReadiness(principal, id, input)
          ),
        reply: (principal, id, input) =>
          journal.command(
            "RequestActs.reply",
            { by: principal, about: { type: "merge_request", id } },
            reply(principal, id, input)
          )
      })
    })
  )
}

/** Gives the function that finds an open merge request whose connection can be used, with its session, which it holds. */
const makeUsable = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const store = yield* MergeRequestStore
  const connections = yield* ConnectionStore
  const { existing } = yield* makeAnswer

  return Effect.fnUntraced(function* (principal: Principal, id: string) {
    const found = yield* store.find(id)
    if (found === undefined) return yield* notFound()
    const session = yield* sessions.writable(principal, found.session_id)
    // Read again now that its session is held against other writers.
    const request = yield* existing(id)
    yield* requireAll(mergeRequestRules.reply, request)
    const connection = yield* connections.find(request.connection_id)
    if (connection?.state !== "active") return yield* noConnection(request)
    return { request, session }
  })
})

const makeSetReadiness = Effect.gen(function* () {
  const jobs = yield* JobStore
  const store = yield* MergeRequestStore
  const forges = yield* Forges
  const usable = yield* makeUsable
  const { answer, start } = yield* makeAnswer

  return Effect.fnUntraced(function* (principal: Principal, id: string, { draft }: ReadinessInput) {
    const { request, session } = yield* usable(principal, id)
    if (!canSetReadiness(forges, request)) return yield* cannotSetReadiness(request.forge)
    const live = { kind: readinessJobKind, subjectId: request.id, workspaceId: session.workspace_id }
    // A job that has begun sees the last word before it ends.
    const running = yield* jobs.findLive(live)
    if (running === undefined || request.draft_wanted !== draft)
      yield* store.readinessRequested(request.id, draft, actorOf(principal))
    const job = running ?? (yield* start(readinessJobKind, request, session, {}))
    return yield* answer(principal, session)(request.id, job)
  })
})

const makeReply = Effect.gen(function* () {
  const replies = yield* requestReplies
  const usable = yield* makeUsable
  const { threadOf } = yield* partReads
  const { answer, start } = yield* makeAnswer

  return Effect.fnUntraced(function* (principal: Principal, id: string, { text, thread_id }: ReplyInput) {
    const { request, session } = yield* usable(principal, id)
    const thread = thread_id === undefined ? null : yield* threadOf(request.id, thread_id)
    if (thread === undefined) return yield* notFound()
    const mark = yield* replies.add({ merge_request_id: request.id, thread, text })
    const job = yield* start(replyRequestJobKind, request, session, { mark })
    return yield* answer(principal, session)(request.id, job)
  })
})

const cannotSetReadiness = (forge: string): ReinsError<"unsupported_capability"> =>
  new ReinsError({
    code: "unsupported_capability",
    message: `${forge} cannot be asked to make a merge request a draft, or ready. Change it on its own page.`,
    details: { forge, action: "set_readiness" }
  })

const noConnection = ({ forge, web_url }: MergeRequest): ReinsError<"connection_required"> =>
  new ReinsError({
    code: "connection_required",
    message: `The ${forge} connection of the merge request is not active. Enable it, or go on at ${web_url ?? "the forge"}.`,
    details: { forge }
  })
