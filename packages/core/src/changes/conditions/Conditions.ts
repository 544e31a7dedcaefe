import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied } from "../../access/Access.js"
import type { Principal } from "../../domain/Principal.js"
import { notFound, ReinsError } from "../../domain/ReinsError.js"
import type { MergeConditionsInput } from "../../projects/MergeTerms.js"
import { SessionStore } from "../../sessions/SessionStore.js"
import type { Command } from "../../store/Command.js"
import { existingOf } from "../../store/Existing.js"
import { Journal } from "../../store/Journal.js"
import { type MergeRequest, mergeRequestStates } from "../MergeRequest.js"
import { MergeRequestStore } from "../MergeRequestStore.js"
import { conditionRows } from "./ConditionRows.js"
import { makeSetConditions } from "./SetConditions.js"

/** A merge request with its conditions. */
export interface ConditionsAnswer {
  readonly merge_request: MergeRequest
}

/** The conditions under which merge requests are merged by themselves. */
export class Conditions extends Context.Tag("@reins/core/changes/conditions/Conditions")<
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
    /** Takes the conditions back. A merge that the forge has been asked for already may still happen. Fails with `not_found` where there are none. */
    readonly remove: (principal: Principal, mergeRequestId: string) => Command<ConditionsAnswer, Denied>
  }
>() {
  static readonly layer = Layer.effect(
    Conditions,
    Effect.gen(function* () {
      const journal = yield* Journal
      const rows = yield* conditionRows
      const sessions = yield* SessionStore
      const store = yield* MergeRequestStore
      const set = yield* makeSetConditions
      const existing = existingOf("merge request", store.find)

      const writable = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const found = yield* store.find(id)
        if (found === undefined) return yield* notFound()
        yield* sessions.writable(principal, found.session_id)
        return yield* existing(id)
      })

      return Conditions.of({
        set: (principal, id, input) =>
          journal.command(
            "Conditions.set",
            { by: principal, about: { type: "merge_request", id } },
            Effect.gen(function* () {
              const request = yield* writable(principal, id)
              if (mergeRequestStates.isTerminal(request.state)) return yield* ended(request)
              yield* set(principal, request, input)
              yield* store.conditioned(request.id, [], actorOf(principal))
              return { merge_request: yield* existing(id) }
            })
          ),
        remove: (principal, id) =>
          journal.command(
            "Conditions.remove",
            { by: principal, about: { type: "merge_request", id } },
            Effect.gen(function* () {
              const request = yield* writable(principal, id)
              if (request.conditions === null) return yield* notFound()
              yield* rows.remove(request.id)
              yield* store.conditioned(request.id, [], actorOf(principal))
              return { merge_request: yield* existing(id) }
            })
          )
      })
    })
  )
}

const ended = ({ state }: MergeRequest): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message: `A merge request that is ${state} has no more merges to wait for.`,
    details: { resource: "merge request", from: state, to: "merged", allowed: [] }
  })
