import { requireAll } from "@reins/base/domain/Condition"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied } from "../../access/Access.js"
import type { MergeConditionsInput } from "../../projects/MergeTerms.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import type { Command } from "../../store/Command.js"
import { existingOf } from "../../store/Existing.js"
import { Journal } from "../../store/Journal.js"
import { conditionRows } from "../rows/ConditionRows.js"
import type { ActionableMergeRequest } from "../rows/MergeRequest.js"
import { mergeRequestRules, mergeRequestViews } from "../rows/MergeRequestRules.js"
import { MergeRequestStore } from "../rows/MergeRequestStore.js"
import { makeSetConditions } from "./SetConditions.js"

/** A merge request with its conditions. */
export interface ConditionsAnswer {
  readonly merge_request: ActionableMergeRequest
}

/** The conditions under which merge requests are merged by themselves. */
export class Conditions extends Context.Tag("@reins/core/requests/conditions/Conditions")<
  Conditions,
  {
    /**
     * Sets the conditions of a merge request, in the place of those that it has. It is merged once they all hold at one head. Fails with
     * `invalid_transition` for one that has ended, and with `unsupported_capability` for a method that the forge does not have.
     */
    readonly set: (
      principal: Principal,
      mergeRequestId: string,
      input: MergeConditionsInput
    ) => Command<ConditionsAnswer, Denied | ReinsError<"invalid_transition" | "unsupported_capability">>
    /** Takes the conditions back. A merge that the forge has been asked for already may still happen. Fails with `not_found` where there are none, and with `invalid_transition` for one that has ended. */
    readonly remove: (
      principal: Principal,
      mergeRequestId: string
    ) => Command<ConditionsAnswer, Denied | ReinsError<"invalid_transition" | "not_found">>
  }
>() {
  static readonly layer = Layer.effect(
    Conditions,
    Effect.gen(function* () {
      const journal = yield* Journal
      const { toMergeRequestFor } = yield* mergeRequestViews
      const rows = yield* conditionRows
      const sessions = yield* SessionStore
      const store = yield* MergeRequestStore
      const set = yield* makeSetConditions
      const existing = existingOf("merge request", store.find)

      const writable = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const found = yield* store.find(id)
        if (found === undefined) return yield* notFound()
        const session = yield* sessions.writable(principal, found.session_id)
        const answer = Effect.map(existing(id), (request) => ({
          merge_request: toMergeRequestFor(principal, session)(request)
        }))
        return { request: yield* existing(id), answer }
      })

      return Conditions.of({
        set: (principal, id, input) =>
          journal.command(
            "Conditions.set",
            { by: principal, about: { type: "merge_request", id } },
            Effect.gen(function* () {
              const { answer, request } = yield* writable(principal, id)
              yield* requireAll(mergeRequestRules.set_conditions, request)
              yield* set(principal, request, input)
              yield* store.conditioned(request.id, [], actorOf(principal))
              return yield* answer
            })
          ),
        remove: (principal, id) =>
          journal.command(
            "Conditions.remove",
            { by: principal, about: { type: "merge_request", id } },
            Effect.gen(function* () {
              const { answer, request } = yield* writable(principal, id)
              yield* requireAll(mergeRequestRules.remove_conditions, request)
              yield* rows.remove(request.id)
              yield* store.conditioned(request.id, [], actorOf(principal))
              return yield* answer
            })
          )
      })
    })
  )
}
