import { Clock, Data, Effect, type Scope } from "effect"
import type { SessionId } from "../domain/Ids.js"
import { leaseMs } from "../jobs/Jobs.js"
import { FileLocked, lockFile } from "../store/FileLock.js"

/** Runs effects of one session one after the other, and those of different sessions at once. */
export type SessionLock = <A, E, R>(sessionId: SessionId, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** A lock of this process alone. */
const make = (): SessionLock => {
  const held = new Map<SessionId, { readonly semaphore: Effect.Semaphore; users: number }>()
  return (id, effect) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const lock = held.get(id) ?? { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
        lock.users++
        held.set(id, lock)
        return lock
      }),
      (lock) => lock.semaphore.withPermits(1)(effect),
      (lock) =>
        Effect.sync(() => {
          lock.users--
          if (lock.users === 0) held.delete(id)
        })
    )
}

/**
 * A new lock that other processes on the same files respect, too, as long as they live: one that was stopped in the middle and goes on
 * after another has taken its work over does not find the files of the other half made. Taking it again inside itself waits for ever.
 *
 * A process that hangs keeps the lock. Whoever has waited for as long as a claim lives goes on without it when `isHolderSilent` says
 * that the holder has no claim any more, for those to whom that is worse than what the holder might still do.
 */
export const makeShared = (
  fileOf: (sessionId: SessionId) => string,
  isHolderSilent: Effect.Effect<boolean> = Effect.succeed(false)
): SessionLock => {
  const here = make()
  return (id, effect) => here(id, Effect.scoped(Effect.zipRight(take(fileOf(id), isHolderSilent), effect)))
}

class NotLocked extends Data.TaggedError("NotLocked")<{ readonly cause: unknown }> {}

const hold = (file: string) =>
  Effect.acquireRelease(
    Effect.try({ try: () => lockFile(file), catch: (cause) => new NotLocked({ cause }) }),
    (unlock) => Effect.sync(unlock)
  )

const take = Effect.fnUntraced(function* (file: string, isHolderSilent: Effect.Effect<boolean>) {
  const since = yield* Clock.currentTimeMillis
  const attempt: Effect.Effect<void, never, Scope.Scope> = Effect.catchTag(
    Effect.asVoid(hold(file)),
    "NotLocked",
    ({ cause }) => (cause instanceof FileLocked ? again : Effect.die(cause))
  )
  const again = Effect.gen(function* () {
    const waited = (yield* Clock.currentTimeMillis) - since
    if (waited > leaseMs && (yield* isHolderSilent))
      return yield* Effect.logWarning("a process that hangs does not let go of a session, which goes on without it", {
        file
      })
    yield* Effect.sleep("200 millis")
    yield* attempt
  })
  yield* attempt
})
