import { fn } from "@reins/base/base/Traced"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import { isAccount, keyOf, type Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer } from "effect"
import type { Denied, Unseen } from "../access/Access.js"
import type { DeliveryAnswer } from "../deliveries/DeliveriesApi.js"
import type { CareInput } from "../projects/CarePolicy.js"
import { mergeRequestStates } from "../requests/rows/MergeRequest.js"
import { MergeRequestStore } from "../requests/rows/MergeRequestStore.js"
import { WatchStore } from "../requests/rows/WatchStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { type Attention, type Care, careStates } from "./Care.js"
import { CareStore, policyIn, toCare } from "./CareStore.js"
import { makeForgetWaiting } from "./EveryTurn.js"
import { followRequests, makeEnd } from "./FollowRequests.js"
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
      yield* followRequests

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
