import { fn } from "@reins/base/base/Traced"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer } from "effect"
import type { Denied, Unseen } from "../access/Access.js"
import { Deliveries } from "../deliveries/Deliveries.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { makeMerge, makeOpenRequest, makeRerun } from "./MergeRequestCommands.js"
import type { MergeInput } from "./RequestInputs.js"
import type { MergeRequestAnswer, MergeRequestInput, RerunInput } from "./RequestsApi.js"
import type { ActionableMergeRequest } from "./rows/MergeRequest.js"
import { mergeRequestViews } from "./rows/MergeRequestRules.js"
import { MergeRequestStore } from "./rows/MergeRequestStore.js"

/** The codes of a command for a resource that the principal may not change, or whose state does not allow it. */
type CommandRefusal = Denied | ReinsError<"invalid_transition">

/**
 * Delivered branches as merge requests on the forges of the installation. A command gives back the merge request with the job that works on
 * it; what became of it comes as an event of the session. Every command fails with `not_found` where the principal may not see the session,
 * and with `forbidden` where it may see the session and not change it.
 */
export class MergeRequests extends Context.Tag("@reins/core/requests/MergeRequests")<
  MergeRequests,
  {
    /**
     * A merge request as it was last observed: `Deliveries.refresh` has the forge asked again. Fails with `not_found` unless the principal
     * may see its session.
     */
    readonly get: (principal: Principal, mergeRequestId: string) => Effect.Effect<ActionableMergeRequest, Unseen>
    /** The merge requests of a delivery, newest first. A delivery that the principal may not see is `not_found`. */
    readonly list: (
      principal: Principal,
      deliveryId: string,
      page: PageRequest
    ) => Effect.Effect<Page<ActionableMergeRequest>, Unseen | ReinsError<"invalid_cursor">>
    /**
     * Asks for a merge request of a delivered branch. A pending or open one for the same base branch is given back. Fails with
     * `delivery_unresolved` until the delivery has succeeded, with `invalid_transition` for a delivery without a branch, with
     * `unsupported_capability` when the project's conditions name a method that the forge does not have, with
     * `connection_required` without a connection to the forge of the repository, and with `RequestInvalid` for a base that is no branch,
     * or when none is named and the session did not start from a branch.
     */
    readonly open: (
      principal: Principal,
      deliveryId: string,
      input: MergeRequestInput
    ) => Command<
      MergeRequestAnswer,
      | Denied
      | ReinsError<"invalid_transition" | "delivery_unresolved" | "connection_required" | "unsupported_capability">
      | RequestInvalid
    >
    /**
     * Asks for the merge of an open merge request. While a job works on it that job is given back. No other commit than
     * `expected_head_sha` is merged. Fails with `remote_head_changed` unless the head was last seen there, with `unsupported_capability` for
     * a method that the forge does not have, and with `invalid_transition` unless it is open. With `when: "conditions"` it merges the head of the last
     * look. It fails with `conditions_unmet` when the conditions do not hold there, and with `invalid_transition` when there are none.
     */
    readonly merge: (
      principal: Principal,
      mergeRequestId: string,
      input: MergeInput
    ) => Command<
      MergeRequestAnswer,
      | CommandRefusal
      | ReinsError<"unsupported_capability" | "remote_head_changed" | "conditions_unmet">
      | RequestInvalid
    >
    /**
     * Asks for checks of the head that have failed to begin anew. Fails with `unsupported_capability` for a forge that cannot, with
     * `not_found` for a check that has not failed, and with `invalid_transition` unless it is open.
     */
    readonly rerun: (
      principal: Principal,
      mergeRequestId: string,
      input: RerunInput
    ) => Command<MergeRequestAnswer, CommandRefusal | ReinsError<"unsupported_capability">>
  }
>() {
  static readonly layer = Layer.effect(
    MergeRequests,
    Effect.gen(function* () {
      const journal = yield* Journal
      const { toMergeRequestFor, toMergeRequestsFor } = yield* mergeRequestViews
      const sessions = yield* SessionStore
      const deliveries = yield* Deliveries
      const store = yield* MergeRequestStore
      const open = yield* makeOpenRequest
      const merge = yield* makeMerge
      const rerun = yield* makeRerun

      return MergeRequests.of({
        get: fn("MergeRequests.get")(function* (principal, id) {
          const request = yield* store.find(id)
          if (request === undefined) return yield* notFound()
          const session = yield* sessions.readable(principal, request.session_id)
          return toMergeRequestFor(principal, session)(request)
        }),
        list: fn("MergeRequests.list")(function* (principal, deliveryId, page) {
          const delivery = yield* deliveries.get(principal, deliveryId)
          const session = yield* sessions.readable(principal, delivery.session_id)
          return toMergeRequestsFor(principal, session)(yield* store.list(delivery.id, page))
        }),
        open: (principal, deliveryId, input) =>
          journal.command(
            "MergeRequests.open",
            { by: principal, about: { type: "delivery", id: deliveryId } },
            open(principal, deliveryId, input)
          ),
        merge: (principal, id, input) =>
          journal.command(
            "MergeRequests.merge",
            { by: principal, about: { type: "merge_request", id: id } },
            merge(principal, id, input)
          ),
        rerun: (principal, id, input) =>
          journal.command(
            "MergeRequests.rerun",
            { by: principal, about: { type: "merge_request", id } },
            rerun(principal, id, input)
          )
      })
    })
  )
}
