import { blobAddressText } from "@reins/core/base/BlobAddress"
import { toMillis } from "@reins/core/domain/Timestamp"
import { unsealedSessions } from "@reins/core/sessions/SnapshotStore"
import { Blobs } from "@reins/core/store/Blobs"
import { Database } from "@reins/core/store/Database"
import { Clock, Effect, Either } from "effect"
import type { Config } from "../Config.js"
import { type Finding, fail, ok, warn } from "./Finding.js"
import * as Installation from "./Installation.js"

/** A turn may end at any moment, and its snapshot takes seconds. */
const shortlyMs = 5 * 60_000

/** No store holds it: whoever asks for it finds out whether the store answers. */
const absent = `sha256:${"0".repeat(64)}`

/** Checks the store of blobs, and that the sessions are sealed. Nothing without such a store. */
export const blobFindings = (config: Config): Effect.Effect<ReadonlyArray<Finding>> => {
  const { blobs: address } = config
  if (address === null) return Effect.succeed([])
  const check = "blobs"
  const place = blobAddressText(address)
  return Effect.gen(function* () {
    const asked = yield* Effect.either(
      Effect.provide(
        Effect.flatMap(Blobs, (blobs) => blobs.has(absent)),
        Blobs.layerAt(address)
      )
    )
    if (Either.isLeft(asked)) return [fail(check, `${place}: ${asked.left.message}`, "Mend the store or REINS_BLOBS.")]
    const { error, sessions, since } = yield* unsealedSessions(yield* Database)
    const ageMs = since === null ? 0 : (yield* Clock.currentTimeMillis) - toMillis(since)
    if (ageMs < shortlyMs)
      return [ok(check, `${place}; ${sessions === 0 ? "every session is sealed" : `${sessions} to be sealed soon`}`)]
    const minutes = Math.round(ageMs / 60_000)
    return [
      warn(
        check,
        `${sessions === 1 ? "1 session without a snapshot of its newest state" : `${sessions} sessions without a snapshot of their newest state`}, the oldest for ${minutes} minutes${error === null ? "" : `: ${error}`}`,
        "Mend the store. The snapshots are taken by themselves then."
      )
    ]
  }).pipe(
    Effect.provide(Installation.databaseAsIs(config)),
    // The check of the database says what is wrong with it.
    Effect.catchAll(() =>
      Effect.succeed([warn(check, `${place}, not looked at without the database`, "See database.")])
    ),
    Effect.catchAllDefect(() =>
      Effect.succeed([warn(check, `${place}, and the schema has no snapshots yet`, "Run: reins migrate")])
    )
  )
}
