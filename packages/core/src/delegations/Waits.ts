import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { type DelegationId, newId, WaitId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Duration, Effect, Layer } from "effect"
import type { Denied } from "../access/Access.js"
import { Bell } from "../store/Bell.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import { lookUntil } from "../store/LookUntil.js"
import { type Delegation, delegationStates, type Wait, waitStateOf } from "./Delegation.js"
import { delegationAccess } from "./DelegationAccess.js"
import { DelegationStore, delegationTopic } from "./DelegationStore.js"
import type { WaitAnswer, WaitInput } from "./DelegationsApi.js"
import { ResultStore } from "./ResultStore.js"
import { WaitStore } from "./WaitStore.js"

const defaultTimeoutSeconds = 30

/** Waits for the end of a delegation, with a held call or with a message that is posted at the end. */
export class Waits extends Context.Tag("@reins/core/delegations/Waits")<
  Waits,
  {
    /**
     * Answers when the delegation has ended or the time of the request is over, at the latest when `cutShort` completes. Nothing of the
     * database is held meanwhile. With `wake: "message"` a wait is left behind, which posts one message to the delegating session once the
     * delegation has succeeded or failed; asking again gives the same wait.
     */
    readonly wait: (
      principal: Principal,
      delegationId: string,
      input: WaitInput,
      cutShort?: Effect.Effect<void>
    ) => Effect.Effect<WaitAnswer, Denied>
  }
>() {
  static readonly layer = Layer.effect(
    Waits,
    Effect.gen(function* () {
      const { readable } = yield* delegationAccess
      const results = yield* ResultStore
      const end = yield* makeAwaitEnd
      const lasting = yield* makeLastingWait

      return Waits.of({
        wait: fn("Waits.wait")(function* (principal, delegationId, input, cutShort = Effect.never) {
          const seen = yield* readable(principal, delegationId)
          const wait = input.wake === "message" ? yield* lasting(principal, delegationId) : yield* passingWait(seen)
          yield* failpoint("wait.kept")
          const patience = Duration.seconds(input.timeout_seconds ?? defaultTimeoutSeconds)
          yield* Effect.raceFirst(end(seen.id), cutShort).pipe(Effect.timeoutOption(patience), Effect.interruptible)
          // The principal may have lost its access meanwhile.
          const delegation = yield* readable(principal, delegationId)
          const result = yield* results.find(seen.id)
          return {
            wait: { ...wait, state: waitStateOf(delegation) },
            delegation,
            ...(result !== undefined && { result })
          }
        })
      })
    })
  )
}

/** Gives the function that completes once a delegation has ended. */
const makeAwaitEnd = Effect.gen(function* () {
  const bell = yield* Bell
  const existing = existingOf("delegation", (yield* DelegationStore).find)

  return (id: DelegationId) =>
    lookUntil(bell, {
      topics: [delegationTopic(id)],
      look: Effect.map(existing(id), ({ state }) => (delegationStates.isTerminal(state) ? state : undefined))
    })
})

/** Gives the function that keeps a wait for the end of a delegation. A delegation that has ended needs none, so its wait is not kept. */
const makeLastingWait = Effect.gen(function* () {
  const journal = yield* Journal
  const { writable } = yield* delegationAccess
  const waits = yield* WaitStore
  return (principal: Principal, delegationId: string) =>
    journal.command(
      "Waits.keep",
      { by: principal, about: { type: "delegation", id: delegationId } },
      Effect.gen(function* () {
        const { delegation } = yield* writable(principal, delegationId)
        if (!delegationStates.isTerminal(delegation.state)) return yield* waits.keep(delegation.id)
        return { ...(yield* passingWait(delegation)), wake: "message" as const }
      })
    )
})

/** The wait of a call that leaves no lasting wait. */
const passingWait = Effect.fnUntraced(function* (delegation: Delegation): Effect.fn.Return<Wait> {
  return {
    id: yield* newId(WaitId),
    delegation_id: delegation.id,
    state: "pending",
    wake: "none",
    created_at: yield* now
  }
})
