import { now, toMillis } from "@reins/base/domain/Timestamp"
import { Deferred, Effect, type Scope } from "effect"
import { ApiKeyStore } from "../../identity/ApiKeyStore.js"
import type { AttemptLost } from "../../jobs/JobKind.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import type { Turn } from "../../sessions/rows/Turn.js"
import { accessLost } from "../../sessions/turns/TurnRow.js"
import { TurnStore } from "../../sessions/turns/TurnStore.js"
import { accessTopic, Bell } from "../../store/Bell.js"
import { lookUntil } from "../../store/LookUntil.js"
import { insist } from "../../store/Loop.js"
import { makeMayCall, turnPrincipal } from "../../tools/Acting.js"
import { system, type TurnWork } from "./TurnWork.js"

/** The right of a turn while it works. */
export interface HeldRight {
  /** Completes as soon as the right is lost, before the turn is told to stop. */
  readonly lost: Effect.Effect<void>
  /** Waits until the turn is told to stop, where the right is lost. */
  readonly told: Effect.Effect<void>
}

/** The shortest time between two looks at a key that is about to expire, in milliseconds. */
const leastWaitMs = 50

/**
 * The right by which turns work: that of the account which sent the message, and of its key. A turn of nobody who is known needs none, and has no tools
 * either.
 */
export const turnRights = Effect.gen(function* () {
  const bell = yield* Bell
  const keys = yield* ApiKeyStore
  const sessions = yield* SessionStore
  const turns = yield* TurnStore
  const principalOf = yield* turnPrincipal
  const mayAct = yield* makeMayCall

  const stop = Effect.fnUntraced(function* ({ session, turn }: TurnWork) {
    yield* sessions.lock(session.id)
    // It may have ended meanwhile.
    yield* Effect.ignore(turns.cancel(turn.id, system, accessLost))
  })

  /** Watches the right until the scope closes, and stops the turn that has lost it. */
  const hold = Effect.fnUntraced(function* (work: TurnWork): Effect.fn.Return<HeldRight, never, Scope.Scope> {
    const lost = yield* Deferred.make<void>()
    const told = yield* Deferred.make<void, AttemptLost>()
    const watch = Effect.gen(function* () {
      const principal = yield* principalOf(work.session, work.turn)
      if (principal === undefined) return
      yield* lookUntil(bell, {
        topics: [accessTopic(principal.accountId)],
        look: Effect.map(mayAct(principal), (may) => (may ? undefined : true)),
        waitMs: yield* timeLeft(principal.via.keyId)
      })
      yield* Deferred.succeed(lost, undefined)
      yield* Effect.intoDeferred(work.attempt.commit(stop(work)), told)
    })
    yield* Effect.forkScoped(insist({ failure: "the right of a turn could not be looked at" }, watch))
    return {
      lost: Deferred.await(lost),
      told: Effect.flatMap(Deferred.isDone(lost), (isLost) =>
        isLost ? Effect.ignore(Deferred.await(told)) : Effect.void
      )
    }
  })

  /** The milliseconds until a key expires, by the clock of this process. */
  const timeLeft = Effect.fnUntraced(function* (keyId: string | null) {
    const expiresAt = keyId === null ? null : yield* keys.expiryOf(keyId)
    if (expiresAt === null) return () => Infinity
    const endsAt = performance.now() + toMillis(expiresAt) - toMillis(yield* now)
    return () => Math.max(leastWaitMs, endsAt - performance.now())
  })

  return {
    hold,
    /** False for a turn whose account or key has lost its right while it waited. */
    mayBegin: Effect.fnUntraced(function* (session: SessionRow, turn: Turn) {
      const principal = yield* principalOf(session, turn)
      return principal === undefined || (yield* mayAct(principal))
    })
  }
})
