import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import { Access, actorOf } from "../access/Access.js"
import type { ResultInput } from "../api/DelegationsApi.js"
import { fn } from "../base/Traced.js"
import { Changesets } from "../changes/Changesets.js"
import { type Delegation, delegationStates, judgingKinds, type Result } from "../domain/Delegation.js"
import type { Actor } from "../domain/Event.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { canonicalJson } from "../store/CanonicalJson.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import { DelegationStore, type ResultContent } from "./DelegationStore.js"
import { ResultSchemas } from "./ResultSchemas.js"

/** What delegations came to. A result is written once, and its delegation succeeds with it. */
export class DelegationResults extends Context.Tag("@reins/core/delegations/DelegationResults")<
  DelegationResults,
  {
    /** Fails with `result_not_ready` before there is one. */
    readonly get: (principal: Principal, delegationId: string) => Effect.Effect<Result, ReinsError>
    /**
     * The same result again is answered as the first time. Fails with `result_already_set` for another one, and with
     * `invalid_transition` while the child has not begun and once the delegation failed or was cancelled.
     */
    readonly submit: (
      principal: Principal,
      delegationId: string,
      input: ResultInput
    ) => Command<Result, ReinsError | RequestInvalid>
    /** Writes the result of a delegation that has begun. The commit holds its child. */
    readonly publish: (
      delegation: Delegation,
      content: ResultContent,
      actor: Actor
    ) => Effect.Effect<Result, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    DelegationResults,
    Effect.gen(function* () {
      const journal = yield* Journal
      const access = yield* Access
      const sessions = yield* SessionStore
      const changesets = yield* Changesets
      const store = yield* DelegationStore
      const schemas = yield* ResultSchemas

      const publish = Effect.fnUntraced(function* (delegation: Delegation, content: ResultContent, actor: Actor) {
        const result = yield* store.insertResult(delegation, content, actor)
        // A result may come while the turn that it is the result of still runs.
        if (delegation.state === "active") yield* store.move(delegation.id, "waiting_result", actor)
        yield* store.move(delegation.id, "succeeded", actor)
        return result
      })

      /** A changeset that the principal may see, of the workspace of the delegation. */
      const requireChangeset = Effect.fnUntraced(function* (principal: Principal, delegation: Delegation, id: string) {
        const changeset = yield* changesets.get(principal, id)
        const session = yield* sessions.readable(principal, changeset.session_id)
        if (session.workspace_id !== delegation.workspace_id) return yield* notFound()
      })

      return DelegationResults.of({
        get: fn("DelegationResults.get")(function* (principal, delegationId) {
          const delegation = yield* store.readable(principal, delegationId)
          return (yield* store.findResult(delegation.id)) ?? (yield* notReady(delegation))
        }),
        submit: (principal, delegationId, input) =>
          journal.prepared(
            "DelegationResults.submit",
            Effect.gen(function* () {
              const seen = yield* store.readable(principal, delegationId)
              yield* access.write(principal, seen.workspace_id)
              yield* checkVerdict(input)
              if (seen.result_schema !== null) yield* schemas.checkResult(seen.result_schema, input)
              return Effect.gen(function* () {
                const { delegation } = yield* store.writable(principal, delegationId)
                const content = contentOf(input)
                const known = yield* store.findResult(delegation.id)
                if (known !== undefined) {
                  if (canonicalJson(contentOf(known)) !== canonicalJson(content)) return yield* alreadySet(known)
                  return known
                }
                if (delegation.state !== "active") yield* delegationStates.check(delegation.state, "succeeded")
                if (content.changeset_id !== null) yield* requireChangeset(principal, delegation, content.changeset_id)
                return yield* publish(delegation, content, actorOf(principal))
              })
            })
          ),
        publish
      })
    })
  )
}

const contentOf = (input: ResultInput | Result): ResultContent => ({
  kind: input.kind,
  verdict: input.verdict ?? null,
  summary: input.summary,
  value: input.value ?? null,
  changeset_id: input.changeset_id ?? null
})

const checkVerdict = ({ kind, verdict }: ResultInput): Effect.Effect<void, RequestInvalid> =>
  verdict === undefined || judgingKinds.has(kind)
    ? Effect.void
    : Effect.fail(
        new RequestInvalid({
          loc: ["body", "verdict"],
          issue: new ParseResult.Type(
            Schema.String.ast,
            verdict,
            `Only a ${[...judgingKinds].join(", ")} has a verdict, not a ${kind}`
          ),
          input: verdict
        })
      )

const notReady = (delegation: Delegation): ReinsError =>
  new ReinsError({
    code: "result_not_ready",
    message: delegationStates.isTerminal(delegation.state)
      ? `The delegation ended without a result: it is ${delegation.state}.`
      : "There is no result yet. Wait for the delegation with POST /api/delegations/{delegation_id}/waits.",
    details: { state: delegation.state }
  })

const alreadySet = (result: Result): ReinsError =>
  new ReinsError({
    code: "result_already_set",
    message: "The delegation has another result already. A result is written once; delegate again for a new one.",
    details: { result_id: result.id }
  })
