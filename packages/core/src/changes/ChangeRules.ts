import { actionsOf, type Condition, type Rules } from "@reins/base/domain/Condition"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { canChange } from "../access/Access.js"
import type { SeenSession } from "../sessions/rows/SessionRow.js"
import type { ActionableChangeset, Changeset, ChangesetAction } from "./Changeset.js"

const isSealed: Condition<Changeset, "stale_subject"> = {
  holds: ({ state }) => state === "ready",
  refusal: ({ state }) =>
    new ReinsError({
      code: "stale_subject",
      message:
        "Only a sealed changeset can be delivered or applied. Wait for the event changeset.ready, or capture a new one.",
      details: { state }
    })
}

/** The conditions of the commands on a changeset. */
export const changesetRules = { apply: [isSealed], deliver: [isSealed] } satisfies Rules<Changeset, ChangesetAction>

const changesetActions = actionsOf<Changeset, ChangesetAction>(changesetRules)
/** The changeset as the principal reads it, in a session that the principal may see. */
export const toChangesetFor =
  (principal: Principal, { role }: Pick<SeenSession, "role">) =>
  (changeset: Changeset): ActionableChangeset => ({
    ...changeset,
    actions: canChange(principal, role) ? changesetActions(changeset) : []
  })
