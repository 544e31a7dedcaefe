import { Context, Effect, Layer } from "effect"
import type { Denied, Unseen } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import type { DeliveryAnswer } from "../changes/ChangesApi.js"
import { RequestListeners } from "../changes/looks/RequestListeners.js"
import { WatchStore } from "../changes/looks/WatchStore.js"
import { type MergeRequest, mergeRequestStates } from "../changes/MergeRequest.js"
import { MergeRequestStore } from "../changes/MergeRequestStore.js"
import type { Page, PageRequest } from "../domain/Page.js"
import { isAccount, keyOf, type Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import type { RequestInvalid } from "../domain/RequestInvalid.js"
import type { CareInput } from "../projects/CarePolicy.js"
import { SessionStore } from "../sessions/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { type Attention, attentionStates, type Care, type CareEnd, careStates } from "./Care.js"
import { type CareRow, CareStore, policyIn, toCare } from "./CareStore.js"
import { makeDeciding } from "./Deciding.js"
import { makeForgetWaiting } from "./EveryTurn.js"
import { makeHandOver } from "./HandOver.js"
import { makeDeliverProposed } from "./Proposals.js"

type Unready = ReinsError<"invalid_transition">

/** The care for merge requests, as people put it and read it. */
export class Cares extends Context.Tag("@reins/core/care/Cares")<
  Cares,
  {
    /** The care for a merge request. Fails with `not_found` when nobody has put one, or the principal may not see its session. */
    readonly get: (principal: Principal, mergeRequestId: string) => Effect.Effect<Care, Unseen>
    /**
     * Begins the care for an open merge request, or begins it anew with all counts at 0. It acts for the account of the principal. Only people and API
     * keys do that, so an agent gets `forbidden`. Fails with `invalid_transition` unless the merge request is open.
     */
    readonly start: (principal: Principal, mergeRequestId: string, input: CareInput) => Command<Care, Denied | Unready>
    /** Ends the care. A turn that runs goes on, and nothing follows from it. */
    readonly remove: (principal: Principal, mergeRequestId: string) => Command<Care, Denied | Unready>
    /** Its attentions, newest first. */
    readonly attentions: (
      principal: Principal,
      mergeRequestId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Attention>, Unseen | ReinsError<"invalid_cursor">>
    /** Delivers what an attention has proposed on top of the branch. Fails with `invalid_transition` unless it is proposed. */
    readonly deliver: (
      principal: Principal,
      attentionId: string
    ) => Command<
      DeliveryAnswer,
      Denied | ReinsError<"invalid_transition" | "stale_subject" | "connection_required"> | RequestInvalid
    >
  }
>() {
  static readonly layer = Layer.effect(
    Cares,
    Effect.gen(function* () {
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const requests = yield* MergeRequestStore
      const store = yield* CareStore
      const watches = yield* WatchStore
      const end = yield* makeEnd
      const deliver = yield* makeDeliverProposed
      const forgetWaiting = yield* makeForgetWaiting
      yield* listen

      const requested = Effect.fnUntraced(function* (id: string) {
        return (yield* requests.find(id)) ?? (yield* notFound())
      })
      const readable = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const request = yield* requested(id)
        yield* sessions.readable(principal, request.session_id)
        return request
      })
      /** A merge request that the principal may change, with its care. The commit holds its session. */
      const held = Effect.fnUntraced(function* (principal: Principal, id: string) {
        yield* sessions.writable(principal, (yield* requested(id)).session_id)
        return { request: yield* requested(id), row: yield* store.lock(id) }
      })

      return Cares.of({
        get: fn("Cares.get")(function* (principal, id) {
          const row = yield* store.find((yield* readable(principal, id)).id)
          return row === undefined ? yield* notFound() : toCare(row)
        }),
        start: (principal, id, input) =>
          journal.command(
            "Cares.start",
            { by: principal, about: { type: "merge_request", id } },
            Effect.gen(function* () {
              const { request, row } = yield* held(principal, id)
              if (!isAccount(principal)) return yield* onlyPeople
              yield* mergeRequestStates.check(request.state, "merged")
              if (row !== undefined) yield* end.attention(row)
              if (input.deliver !== "every_turn") yield* forgetWaiting(request.id)
              const terms = { acts_for: principal.accountId, api_key_id: keyOf(principal), policy: policyIn(input) }
              const begun = yield* store.begin(request, terms)
              yield* watches.ring(request.id, false)
              return toCare(begun)
            })
          ),
        remove: (principal, id) =>
          journal.command(
            "Cares.remove",
            { by: principal, about: { type: "merge_request", id } },
            Effect.gen(function* () {
              const { request, row } = yield* held(principal, id)
              if (row === undefined) return yield* notFound()
              yield* careStates.check(row.state, "ended")
              return toCare(yield* end.care(request, row, "removed"))
            })
          ),
        attentions: fn("Cares.attentions")(function* (principal, id, page) {
          return yield* store.attentions((yield* readable(principal, id)).id, page)
        }),
        deliver
      })
    })
  )
}

const onlyPeople = new ReinsError({
  code: "forbidden",
  message: "Only people and their API keys decide how a merge request is cared for."
})

/** The ends of a care that nobody hands over. */
const makeEnd = Effect.gen(function* () {
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

/** Lets the care follow its merge request, in the commits that change it. */
const listen = Effect.gen(function* () {
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
