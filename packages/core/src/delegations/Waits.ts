import { Context, Duration, Effect, Layer } from "effect"
import { systemActor } from "../access/Access.js"
import type { WaitAnswer, WaitInput } from "../api/DelegationsApi.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import { type Delegation, delegationStates, type Result, type Wait, waitStateOf } from "../domain/Delegation.js"
import type { DelegationId } from "../domain/Ids.js"
import { newId, WaitId } from "../domain/Ids.js"
import type { Routing } from "../domain/Message.js"
import type { Principal } from "../domain/Principal.js"
import type { ReinsError } from "../domain/ReinsError.js"
import { now } from "../domain/Timestamp.js"
import { Inbox } from "../sessions/Inbox.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { Bell } from "../store/Bell.js"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import { DelegationStore, delegationTopic } from "./DelegationStore.js"

const defaultTimeoutSeconds = 30

/** How long a lost ring can delay an answer. */
const pollMs = 5_000

/** Waiting for the end of a delegation: by a call that is held, and by a message that is posted whenever the end comes. */
export class Waits extends Context.Tag("@reins/core/delegations/Waits")<
  Waits,
  {
    /**
     * Answers at once when the delegation has ended, else when it ends or the time is over, whichever is first. Nothing of the
     * database is held meanwhile. With `wake: "message"` a wait is left behind that posts one message to the session that delegated
     * once the delegation has succeeded or failed; asking again is the same wait. `cutShort` ends the holding before its time.
     */
    readonly wait: (
      principal: Principal,
      delegationId: string,
      input: WaitInput,
      cutShort?: Effect.Effect<void>
    ) => Effect.Effect<WaitAnswer, ReinsError>
    /** Posts the message of a lasting wait, once, and settles the wait. Routed as `note` it starts no turn. Fails when the session cannot take it. */
    readonly deliver: (
      waitId: string,
      routing: Extract<Routing, "queue" | "note">
    ) => Effect.Effect<void, ReinsError, Commit>
    /** Gives up a lasting wait whose session takes no message any more. */
    readonly abandon: (waitId: string) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    Waits,
    Effect.gen(function* () {
      const bell = yield* Bell
      const journal = yield* Journal
      const store = yield* DelegationStore
      const sessions = yield* SessionStore
      const inbox = yield* Inbox

      const existing = (id: DelegationId) =>
        Effect.flatMap(store.find(id), (delegation) =>
          delegation === undefined ? Effect.dieMessage(`no delegation ${id}`) : Effect.succeed(delegation)
        )

      /** The delegation once it has ended. */
      const end = (id: DelegationId) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            const rung = Effect.unsafeMakeLatch(true)
            return { rung, stop: bell.listen(delegationTopic(id), () => rung.unsafeOpen()) }
          }),
          ({ rung }) =>
            Effect.gen(function* () {
              // Closed before the read, so that a ring during it is not missed.
              yield* rung.close
              const delegation = yield* existing(id)
              if (delegationStates.isTerminal(delegation.state)) return delegation
              yield* Effect.timeoutOption(rung.await, pollMs)
              return undefined
            }).pipe(Effect.repeat({ until: (delegation) => delegation !== undefined })),
          ({ stop }) => Effect.sync(stop)
        )

      /** The wait of a call that leaves nothing behind. */
      const passing = Effect.fnUntraced(function* (delegation: Delegation): Effect.fn.Return<Wait> {
        return {
          id: yield* newId(WaitId),
          delegation_id: delegation.id,
          state: "pending",
          wake: "none",
          created_at: yield* now
        }
      })

      /** The lasting wait of a delegation that goes on; an ended one has nobody left to wake. */
      const lasting = (principal: Principal, delegationId: string) =>
        journal.commit(
          Effect.gen(function* () {
            const { delegation } = yield* store.writable(principal, delegationId)
            if (!delegationStates.isTerminal(delegation.state)) return yield* store.keepWait(delegation.id)
            return { ...(yield* passing(delegation)), wake: "message" as const }
          })
        )

      return Waits.of({
        wait: fn("Waits.wait")(function* (principal, delegationId, input, cutShort = Effect.never) {
          const seen = yield* store.readable(principal, delegationId)
          const wait = input.wake === "message" ? yield* lasting(principal, delegationId) : yield* passing(seen)
          yield* failpoint("wait.kept")
          const patience = Duration.seconds(input.timeout_seconds ?? defaultTimeoutSeconds)
          yield* Effect.raceFirst(end(seen.id), cutShort).pipe(Effect.timeoutOption(patience), Effect.interruptible)
          // Who may see it can have changed meanwhile.
          const delegation = yield* store.readable(principal, delegationId)
          const result = yield* store.findResult(seen.id)
          return {
            wait: { ...wait, state: waitStateOf(delegation) },
            delegation,
            ...(result !== undefined && { result })
          }
        }),
        deliver: fn("Waits.deliver")(function* (waitId, routing) {
          const pending = yield* pendingWait(waitId)
          if (pending === undefined) return
          const { delegation, wait } = pending
          const session = yield* sessions.lock(delegation.session_id)
          if (session === undefined) return
          const result = yield* store.findResult(delegation.id)
          const { message } = yield* inbox.post(
            session,
            waker,
            { content: textOf(delegation, result), routing },
            "delegation"
          )
          const state = waitStateOf(delegation)
          yield* store.settleWait(wait, state)
          yield* store.tell(delegation, waker, {
            type: state === "expired" ? "delegation.wait_expired" : "delegation.wait_satisfied",
            payload: { wait_id: wait.id, message_id: message.id }
          })
        }),
        abandon: fn("Waits.abandon")(function* (waitId) {
          const pending = yield* pendingWait(waitId)
          if (pending !== undefined) yield* store.settleWait(pending.wait, "cancelled")
        })
      })

      /** A wait that has not been settled, of a delegation that has ended. */
      function pendingWait(waitId: string) {
        return Effect.gen(function* () {
          const wait = yield* store.findWait(waitId)
          if (wait === undefined || wait.state !== "pending") return undefined
          const delegation = yield* existing(wait.delegation_id)
          return delegationStates.isTerminal(delegation.state) ? { wait, delegation } : undefined
        })
      }
    })
  )
}

const waker = systemActor("delegations")

/** What a message may hold besides the summary. */
const maxSummary = 90_000

const textOf = (delegation: Delegation, result: Result | undefined): string => {
  const head = `The delegation ${delegation.id} ("${delegation.role}") ${delegation.state}.`
  if (result === undefined) return [head, delegation.reason_message].filter(Boolean).join("\n\n")
  const facts = [
    result.verdict === null ? undefined : `Verdict: ${result.verdict}`,
    result.changeset_id === null ? undefined : `Changeset: ${result.changeset_id}`
  ].filter((fact) => fact !== undefined)
  return [head, ...(facts.length > 0 ? [facts.join("\n")] : []), result.summary.slice(0, maxSummary)].join("\n\n")
}
