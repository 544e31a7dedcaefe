import { readFileSync, rmSync, writeFileSync } from "node:fs"
import type { SessionId } from "@reins/base/domain/Ids"
import { type FileLock, FileLocks } from "@reins/machine/bench/FileLocks"
import { Clock, Data, Effect, Layer, type Scope } from "effect"
import { FileLocked, lockFile } from "../store/FileLock.js"

/** Runs the effects of one session, or of what else an id names, one after the other. The effects of different ones run at once. */
export type SessionLock<Id extends string = SessionId> = FileLock<Id>

/** Makes a lock that holds within this process only. */
const make = <Id extends string>(): SessionLock<Id> => {
  const held = new Map<Id, { readonly semaphore: Effect.Semaphore; users: number }>()
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

/** The knowledge that processes have of each other, so that they need not wait for one that hangs. */
export interface Holders {
  /** The name of this process. */
  readonly self: string
  /** True for a process that has no claim any more. */
  readonly isSilent: (holder: string) => Effect.Effect<boolean>
  /** The time within which the holder of a lock has to show that it lives, in milliseconds. */
  readonly leaseMs: number
}

/**
 * Makes a lock that also holds against other processes on the same files, for as long as they live. A process that was stopped in the middle
 * and goes on after another has taken its work over does not find that one's files half made. A fiber that takes the lock again inside of
 * itself waits for ever.
 *
 * A process that hangs keeps the lock. With `holders` a waiter goes on without the lock when it has waited for as long as a claim lives and
 * the holder is silent. That is for work to which a wait without end is worse than what the holder might still do.
 */
export const makeShared = <Id extends string = SessionId>(
  fileOf: (id: Id) => string,
  holders?: Holders
): SessionLock<Id> => {
  const here = make<Id>()
  return (id, effect) => here(id, Effect.scoped(Effect.zipRight(take(fileOf(id), holders), effect)))
}

/** The locks of a bench in this process. */
export const fileLocks = Layer.succeed(FileLocks, (fileOf) => makeShared(fileOf))

class NotLocked extends Data.TaggedError("NotLocked")<{ readonly cause: unknown }> {}

const hold = Effect.fnUntraced(function* (file: string, self: string | undefined) {
  yield* Effect.acquireRelease(
    Effect.try({ try: () => lockFile(file), catch: (cause) => new NotLocked({ cause }) }),
    (unlock) => Effect.sync(unlock)
  )
  if (self === undefined) return
  yield* Effect.acquireRelease(
    Effect.sync(() => nameHolder(file, self)),
    () => Effect.sync(() => forgetHolder(file))
  )
})

const holderFile = (file: string): string => `${file}.holder`

const forgetHolder = (file: string): void => rmSync(holderFile(file), { force: true })

const nameHolder = (file: string, self: string): void => {
  try {
    writeFileSync(holderFile(file), self)
  } catch {
    // The disk may be full. No name is better than the name of an earlier holder.
    forgetHolder(file)
  }
}

/** True when the holder of a lock is known and silent. */
const isHolderSilent = (file: string, { isSilent }: Holders): Effect.Effect<boolean> =>
  Effect.try(() => readFileSync(holderFile(file), "utf8")).pipe(
    Effect.flatMap(isSilent),
    Effect.orElseSucceed(() => false)
  )

const take = Effect.fnUntraced(function* (file: string, holders: Holders | undefined) {
  const since = yield* Clock.currentTimeMillis
  const attempt: Effect.Effect<void, never, Scope.Scope> = Effect.catchTag(
    hold(file, holders?.self),
    "NotLocked",
    ({ cause }) => (cause instanceof FileLocked ? again : Effect.die(cause))
  )
  const again = Effect.gen(function* () {
    const waited = (yield* Clock.currentTimeMillis) - since
    if (holders !== undefined && waited > holders.leaseMs && (yield* isHolderSilent(file, holders)))
      return yield* Effect.logWarning("a process that hangs does not let go of a session, which goes on without it", {
        file
      })
    yield* Effect.sleep("200 millis")
    yield* attempt
  })
  yield* attempt
})
