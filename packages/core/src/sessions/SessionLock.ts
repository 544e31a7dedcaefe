import { Effect } from "effect"
import type { SessionId } from "../domain/Ids.js"

/** Runs effects of one session one after the other, and those of different sessions at once. In this process only. */
export type SessionLock = <A, E, R>(sessionId: SessionId, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** A new lock. Taking it again inside itself waits for ever. */
export const make = (): SessionLock => {
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
