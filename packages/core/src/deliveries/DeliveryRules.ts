import { actionsOf, type Condition, type Rules } from "@reins/base/domain/Condition"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { canChange } from "../access/Access.js"
import type { SeenSession } from "../sessions/rows/SessionRow.js"
import {
  type ActionableDelivery,
  type Delivery,
  type DeliveryAction,
  type DeliveryState,
  deliveryStates
} from "./Delivery.js"

/** The state that another try begins with. */
export const retriedState = ({ state }: Delivery): DeliveryState => (state === "blocked" ? "executing" : "pending")

const mayBeRetried: Condition<Delivery, "invalid_transition"> = {
  holds: (delivery) => deliveryStates.allows(delivery.state, retriedState(delivery)),
  refusal: (delivery) => deliveryStates.refusal(delivery.state, retriedState(delivery))
}

/** A delivery that waits passes through `executing` when it is cancelled. */
const mayBeCancelled: Condition<Delivery, "invalid_transition"> = {
  holds: ({ state }) => state === "pending" || deliveryStates.allows(state, "cancelled"),
  refusal: ({ state }) => deliveryStates.refusal(state, "cancelled")
}

/** The delivery has put a branch on the remote. `delivery_unresolved` says that it still may. */
const hasBranch: Condition<Delivery, "invalid_transition" | "delivery_unresolved"> = {
  holds: ({ state, transport }) => state === "succeeded" && transport === "git_branch",
  refusal: (delivery) =>
    delivery.transport === "patch" || deliveryStates.isTerminal(delivery.state)
      ? noBranch(delivery)
      : unresolved(delivery)
}

/** The conditions of the commands on a delivery. */
export const deliveryRules = {
  cancel: [mayBeCancelled],
  open_merge_request: [hasBranch],
  refresh: [],
  retry: [mayBeRetried]
} satisfies Rules<Delivery, DeliveryAction>

const deliveryActions = actionsOf<Delivery, DeliveryAction>(deliveryRules)

/** The delivery as the principal reads it, in a session that the principal may see. */
export const toDeliveryFor =
  (principal: Principal, { role }: Pick<SeenSession, "role">) =>
  (delivery: Delivery): ActionableDelivery => ({
    ...delivery,
    actions: canChange(principal, role) ? deliveryActions(delivery) : []
  })

const noBranch = (delivery: Delivery): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message: 'Only a branch that was delivered can become a merge request. Deliver with the transport "git_branch".',
    details: { resource: "delivery", from: delivery.state, transport: delivery.transport }
  })

const unresolved = (delivery: Delivery): ReinsError<"delivery_unresolved"> =>
  new ReinsError({
    code: "delivery_unresolved",
    message:
      "The delivery has not succeeded. Wait for the event delivery.succeeded; one that failed or is blocked needs a retry.",
    details: { state: delivery.state, reason: delivery.reason }
  })
