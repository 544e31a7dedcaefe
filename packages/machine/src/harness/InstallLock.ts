import { rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import * as path from "node:path"
import { makeDirectory } from "@reins/base/base/MakeDirectory"
import { Effect, Schedule } from "effect"

const staleAfterMillis = 20_000
const heartbeat = "5 seconds"
const retry = "200 millis"

/** Takes the lock when nobody has it, or when its owner has stopped renewing it. */
const tryTake = async (file: string): Promise<boolean> => {
  makeDirectory(path.dirname(file))
  try {
    await writeFile(file, String(process.pid), { flag: "wx" })
    return true
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  }
  const age = await stat(file).then(
    (found) => Date.now() - found.mtimeMs,
    () => 0
  )
  if (age > staleAfterMillis) {
    const aside = `${file}.${process.pid}`
    // Several processes may find the lock stale. Only one of them succeeds in renaming it.
    await rename(file, aside).then(
      () => rm(aside, { force: true }),
      () => undefined
    )
  }
  return false
}

/**
 * Runs an effect while no other process and no other fiber of this one holds the lock. The lock of a crashed owner is free after 20 seconds.
 */
export const withLock =
  <E>(file: string, onError: (cause: unknown) => E) =>
  <A, E2, R>(effect: Effect.Effect<A, E2, R>) => {
    const take = Effect.tryPromise({ try: () => tryTake(file), catch: onError }).pipe(
      Effect.tap((taken) => (taken ? Effect.void : Effect.sleep(retry))),
      Effect.repeat({ until: (taken) => taken })
    )
    const beat = Effect.promise(() => utimes(file, new Date(), new Date()).catch(() => undefined))
    return Effect.acquireUseRelease(
      Effect.interruptible(take),
      () => Effect.raceFirst(effect, Effect.zipRight(Effect.repeat(beat, Schedule.spaced(heartbeat)), Effect.never)),
      () => Effect.promise(() => rm(file, { force: true }))
    )
  }
