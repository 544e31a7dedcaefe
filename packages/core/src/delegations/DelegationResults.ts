import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { fn } from "@reins/base/base/Traced"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import { Access, actorOf, type Denied, type Unseen } from "../access/Access.js"
import { Changesets } from "../changes/Changesets.js"
import { ResultSchemas } from "../sessions/results/ResultSchemas.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { type Delegation, delegationStates, judgingKinds, type Result } from "./Delegation.js"
import { delegationAccess, sessionsOf } from "./DelegationAccess.js"
import type { ResultInput } from "./DelegationsApi.js"
import { type ResultContent, ResultStore } from "./ResultStore.js"

/** The results of delegations. A result is written once, and its delegation succeeds with it. */
export class DelegationResults extends Context.Tag("@reins/core/delegations/DelegationResults")<
  DelegationResults,
  {
    /** The result of a delegation. Fails with `result_not_ready` before there is one. */
    readonly get: (
      principal: Principal,
      delegationId: string
    ) => Effect.Effect<Result, Unseen | ReinsError<"result_not_ready">>
    /**
     * Submits the result of a delegation, which succeeds with it. The same result again is answered as the first time. Fails with
     * `result_already_set` for another one, and with `invalid_transition` while the child has not begun and once the delegation failed or was
     * cancelled.
     */
    readonly submit: (
      principal: Principal,
      delegationId: string,
      input: ResultInput
    ) => Command<Result, Denied | ReinsError<"invalid_transition" | "result_already_set"> | RequestInvalid>
  }
>() {
  static readonly layer = Layer.effect(
    DelegationResults,
    Effect.gen(function* () {
      const journal = yield* Journal
      const { readable } = yield* delegationAccess
      const store = yield* ResultStore
      const submit = yield* submitPreparation

      return DelegationResults.of({
        get: fn("DelegationResults.get")(function* (principal, delegationId) {
          const delegation = yield* readable(principal, delegationId)
          return (yield* store.find(delegation.id)) ?? (yield* notReady(delegation))
        }),
        submit: (principal, delegationId, input) =>
          journal.prepared(
            "DelegationResults.submit",
            { by: principal, about: { type: "delegation", id: delegationId } },
            submit(principal, delegationId, input)
          )
      })
    })
  )
}

/** Checks a result against the schema of the delegation. This may take a while, so it comes before the commit that publishes the result. */
const submitPreparation = Effect.gen(function* () {
  const access = yield* Access
  const { readable, writable } = yield* delegationAccess
  const sessions = yield* SessionStore
  const changesets = yield* Changesets
  const schemas = yield* ResultSchemas
  const store = yield* ResultStore

  /** Fails with `not_found` unless the changeset is of the workspace of the delegation and the principal may see it. */
  const requireChangeset = Effect.fnUntraced(function* (principal: Principal, delegation: Delegation, id: string) {
    const changeset = yield* changesets.get(principal, id)
    const session = yield* sessions.readable(principal, changeset.session_id)
    if (session.workspace_id !== delegation.workspace_id) return yield* notFound()
  })

  const inside = Effect.fnUntraced(function* (principal: Principal, delegationId: string, content: ResultContent) {
    const { delegation } = yield* writable(principal, delegationId)
    const known = yield* store.find(delegation.id)
    if (known !== undefined) {
      const isSame = canonicalJson(contentOf(known)) === canonicalJson(content)
      return isSame ? known : yield* alreadySet(known)
    }
    // The agent may submit while its turn runs, so the delegation need not wait for a result yet.
    if (delegation.state !== "active") yield* delegationStates.check(delegation.state, "succeeded")
    if (content.changeset_id !== null) yield* requireChangeset(principal, delegation, content.changeset_id)
    return yield* store.publish(delegation, content, actorOf(principal))
  })

  return Effect.fnUntraced(function* (principal: Principal, delegationId: string, input: ResultInput) {
    const seen = yield* readable(principal, delegationId)
    yield* access.writeWithin(principal, seen.workspace_id, sessionsOf(seen))
    yield* checkVerdict(input)
    if (seen.result_schema !== null) yield* schemas.checkResult(seen.result_schema, input)
    return inside(principal, delegationId, contentOf(input))
  })
})

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

const notReady = (delegation: Delegation): ReinsError<"result_not_ready"> =>
  new ReinsError({
    code: "result_not_ready",
    message: delegationStates.isTerminal(delegation.state)
      ? `The delegation ended without a result: it is ${delegation.state}.`
      : "There is no result yet. Wait for the delegation with POST /api/delegations/{delegation_id}/waits.",
    details: { state: delegation.state }
  })

const alreadySet = (result: Result): ReinsError<"result_already_set"> =>
  new ReinsError({
    code: "result_already_set",
    message: "The delegation has another result already. A result is written once; delegate again for a new one.",
    details: { result_id: result.id }
  })
