import { type BlobAddress, blobAddressText } from "@reins/base/base/BlobAddress"
import { toMillis } from "@reins/base/domain/Timestamp"
import { some } from "@reins/cli/terminal/Listing"
import * as NodeRows from "@reins/core/placement/NodeRows"
import { Blobs } from "@reins/core/store/Blobs"
import { Database } from "@reins/core/store/Database"
import { neededBlobs, sealFacts } from "@reins/core/worktrees/snapshots/SnapshotFacts"
import { unsealedSessions } from "@reins/core/worktrees/snapshots/SnapshotStore"
import { Clock, Effect, Either, Stream } from "effect"
import type { Config } from "../../Config.js"
import * as Installation from "../operator/Installation.js"
import { type Finding, fail, ok, warn } from "./Finding.js"

/** A turn may end at any moment, and its snapshot takes seconds. */
const shortlyMs = 5 * 60_000

/** No store holds it: whoever asks for it finds out whether the store answers. */
const absent = `sha256:${"0".repeat(64)}`

/** The look-ups in a store that run at once. */
const width = 16

/**
 * Checks the store of blobs, that the sessions are sealed, and that no blob of theirs is missing; with `read` each is read, and compared with its
 * digest. Nothing without such a store.
 */
export const blobFindings = (config: Config, read: boolean): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.gen(function* () {
    const db = yield* Database
    const address = yield* addressOf(config, db)
    if (address === null) return []
    const place = blobAddressText(address)
    const blobs = yield* Effect.provide(Blobs, Blobs.layerAt(address))
    const asked = yield* Effect.either(blobs.has(absent))
    if (Either.isLeft(asked)) return [fail(check, `${place}: ${asked.left.message}`, "Mend the store or REINS_BLOBS.")]
    return [yield* sealed(db, place), ...(yield* contents(db, blobs, read))]
  }).pipe(
    Effect.provide(Installation.databaseAsIs(config)),
    // The check of the database says what is wrong with it.
    Effect.catchAll(() => Effect.succeed(unlessNone(config, "not looked at without the database", "See database."))),
    Effect.catchAllDefect(() =>
      Effect.succeed(unlessNone(config, "and the schema has no snapshots yet", "Run: reins migrate"))
    )
  )

const check = "blobs"

const unlessNone = ({ blobs }: Config, what: string, todo: string): ReadonlyArray<Finding> =>
  blobs === null ? [] : [warn(check, `${blobAddressText(blobs)}, ${what}`, todo)]

/** The store of the installation: nodes have PostgreSQL unless it is said otherwise, and whoever looks need not be one. */
const addressOf = ({ blobs, databaseUrl }: Config, db: Database["Type"]) =>
  blobs !== null || databaseUrl === undefined
    ? Effect.succeed(blobs)
    : Effect.map(NodeRows.list(db), (nodes): BlobAddress | null => (nodes.length === 0 ? null : { kind: "postgres" }))

const sealed = (db: Database["Type"], place: string) =>
  Effect.gen(function* () {
    const { error, sessions, since } = yield* unsealedSessions(db)
    const now = yield* Clock.currentTimeMillis
    const ageMs = since === null ? 0 : now - toMillis(since)
    if (ageMs < shortlyMs)
      return ok(check, `${place}; ${sessions === 0 ? "every session is sealed" : `${sessions} to be sealed soon`}`)
    const late = (yield* sealFacts(db)).filter(
      ({ unsealed_since }) => unsealed_since !== null && now - toMillis(unsealed_since) >= shortlyMs
    )
    const minutes = Math.round(ageMs / 60_000)
    const which = late.length === 0 ? "" : ` (${some(late.map(({ session_id }) => session_id))})`
    return warn(
      check,
      `${sessions === 1 ? "1 session without a snapshot of its newest state" : `${sessions} sessions without a snapshot of their newest state`}${which}, the oldest for ${minutes} minutes${error === null ? "" : `: ${error}`}`,
      "Mend the store. The snapshots are taken by themselves then."
    )
  })

/** The blobs that the store has lost or changed, each with a session that needs it. */
const contents = Effect.fnUntraced(function* (db: Database["Type"], blobs: Blobs["Type"], read: boolean) {
  const needed = yield* neededBlobs(db)
  const look = ({ digest, session_id }: (typeof needed)[number]) =>
    (read ? Effect.as(Stream.runDrain(blobs.get(digest)), true) : blobs.has(digest)).pipe(
      Effect.map((isThere) => (isThere ? null : ("missing" as const))),
      Effect.catchAll(({ reason }) => Effect.succeed(reason)),
      Effect.map((wrong) => (wrong === null ? [] : [`${digest} of ${session_id} is ${wrong}`]))
    )
  const wrong = (yield* Effect.forEach(needed, look, { concurrency: width })).flat()
  if (wrong.length === 0)
    return read ? [ok(check, `all ${needed.length} that snapshots need were read and are whole`)] : []
  return [
    fail(
      check,
      `${wrong.length} of ${needed.length} that snapshots need cannot be used: ${some(wrong)}`,
      "Bring them back from a copy of the store. A session that still has its node is sealed anew by its next turn, or when the node is drained."
    )
  ]
})
