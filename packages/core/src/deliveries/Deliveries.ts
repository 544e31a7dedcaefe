import { fn } from "@reins/base/base/Traced"
import type { Page, StatePageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer } from "effect"
import type { Denied, Unseen } from "../access/Access.js"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import { SessionListeners } from "../sessions/rows/SessionListeners.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import type { DeliveryAnswer, DeliveryInput } from "./DeliveriesApi.js"
import type { ActionableDelivery, DeliveryState } from "./Delivery.js"
import { deliveryCommands } from "./DeliveryCommands.js"
import { toDeliveryFor } from "./DeliveryRules.js"
import { DeliveryStore } from "./DeliveryStore.js"
import { makeRequest } from "./RequestDelivery.js"

/** The codes of a command for a delivery that the principal may not change, or whose state does not allow it. */
type CommandRefusal = Denied | ReinsError<"invalid_transition">

/**
 * Sealed changesets on their way out: as a patch, or as a branch of the repository. A command gives back the delivery with the job that works
 * on it; the end comes as an event of the session. Every command fails with `not_found` for a delivery whose session the principal may not
 * see, and with `forbidden` when it may see the session and not change it.
 */
export class Deliveries extends Context.Tag("@reins/core/deliveries/Deliveries")<
  Deliveries,
  {
    /** The deliveries of a changeset, newest first. A changeset that the principal may not see is `not_found`. */
    readonly list: (
      principal: Principal,
      changesetId: string,
      page: StatePageRequest<DeliveryState>
    ) => Effect.Effect<Page<ActionableDelivery>, Unseen | ReinsError<"invalid_cursor">>
    /** A delivery with the steps that it has taken so far. Fails with `not_found` unless the principal may see its session. */
    readonly get: (principal: Principal, deliveryId: string) => Effect.Effect<ActionableDelivery, Unseen>
    /**
     * Asks for a delivery. The same changeset, transport and target give the same delivery back. One that failed or is blocked goes on when
     * it is asked for with another connection, strategy or `allow`. Fails with `stale_subject` for an unsealed changeset, with
     * `connection_required` for a connection that git cannot use, and with `invalid_transition` for a branch of a session without a
     * repository.
     */
    readonly request: (
      principal: Principal,
      changesetId: string,
      input: DeliveryInput
    ) => Command<DeliveryAnswer, CommandRefusal | ReinsError<"stale_subject" | "connection_required"> | RequestInvalid>
    /**
     * Tries again a delivery that failed or is blocked, and looks at the remote first, so that nothing is pushed twice. Fails with
     * `invalid_transition` for a delivery in another state.
     */
    readonly retry: (principal: Principal, deliveryId: string) => Command<DeliveryAnswer, CommandRefusal>
    /**
     * Looks at the remote branch and its merge requests. A blocked delivery is tried again. A delivery under way looks by itself, and a patch
     * has no remote: both are answered with their newest job.
     */
    readonly refresh: (principal: Principal, deliveryId: string) => Command<DeliveryAnswer, CommandRefusal>
    /**
     * Stops a delivery before its push. A push that has begun decides the end of its delivery. Fails with `invalid_transition` for a delivery
     * that is neither pending nor under way.
     */
    readonly cancel: (principal: Principal, deliveryId: string) => Command<DeliveryAnswer, CommandRefusal>
  }
>() {
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const changesetStore = yield* ChangesetStore
      const store = yield* DeliveryStore
      const request = yield* makeRequest
      const commands = yield* deliveryCommands
      yield* (yield* SessionListeners).register({ isDelivering: ({ id }) => store.isUnderWay(id) })

      return Deliveries.of({
        list: fn("Deliveries.list")(function* (principal, changesetId, page) {
          const changeset = yield* changesetStore.find(changesetId)
          if (changeset === undefined) return yield* notFound()
          const session = yield* sessions.readable(principal, changeset.session_id)
          return Keyset.map(yield* store.list(changeset.id, page), toDeliveryFor(principal, session))
        }),
        get: fn("Deliveries.get")(function* (principal, deliveryId) {
          const delivery = yield* store.find(deliveryId)
          if (delivery === undefined) return yield* notFound()
          const session = yield* sessions.readable(principal, delivery.session_id)
          return toDeliveryFor(principal, session)(delivery)
        }),
        request: (principal, changesetId, input) =>
          journal.command(
            "Deliveries.request",
            { by: principal, about: { type: "changeset", id: changesetId } },
            request(principal, changesetId, input)
          ),
        ...commands
      })
    })
  )
}
