import { rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import * as path from "node:path"
import { Effect, Schedule } from "effect"
import { makeDirectory } from "../base/MakeDirectory.js"

const staleAfterMillis = 20_000
const heartbeat = "5 seconds"
const retry = "200 millis"

/** Takes the lock if nobody has it, or if its owner has stopped saying that it lives. */
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
    // Renaming decides between several who found it stale: one succeeds.
    await rename(file, aside).then(
      () => rm(aside, { force: true }),
      () => undefined
    )
  }
  return false
}

/** Runs an effect while no other process, nor another fiber of this one, holds the lock. A crashed owner is waited for 20 seconds. */
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
