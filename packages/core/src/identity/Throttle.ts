import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { ReinsError } from "../domain/ReinsError.js"
import { fromMillis, fromNow, now, type Timestamp, toMillis } from "../domain/Timestamp.js"
import { Vault } from "../secrets/Vault.js"
import { Database } from "../store/Database.js"

/** At most `max` hits in any `windowMs`. */
export interface Limit {
  readonly kind: string
  readonly max: number
  readonly windowMs: number
}

export interface Throttle {
  /** Whole seconds until the subject is below its limit; undefined when it is below it now. */
  readonly retryAfterSeconds: (limit: Limit, subject: string) => Effect.Effect<number | undefined>
  /** Counts a hit, unless the subject is at its limit. Whether it was counted. */
  readonly take: (limit: Limit, subject: string) => Effect.Effect<boolean>
  readonly hit: (limit: Limit, subject: string) => Effect.Effect<void>
  readonly clear: (limit: Limit, subject: string) => Effect.Effect<void>
  /** Deletes the hits that are older than any window. */
  readonly purge: Effect.Effect<void>
}

/** The longest window of a limit. */
const maxWindowMs = 60 * 60 * 1000

/** Mails that somebody else may cause an address to get, whether anybody has it or not. */
export const mailLimit: Limit = { kind: "mail", max: 3, windowMs: maxWindowMs }

/** What a caller is told who has come to a limit. `message` says what to do when. */
export const rateLimited = (name: string, limit: Limit, retryAfterSeconds: number, message: string): ReinsError =>
  new ReinsError({
    code: "rate_limited",
    message,
    details: { policy: name, limit: limit.max, window_seconds: limit.windowMs / 1000 },
    retryAfterSeconds
  })

/**
 * Counts what happened lately to a subject, across all processes. A subject is stored as a keyed digest: it may be an address that
 * does not exist here, or a password that was typed into the wrong field.
 */
export const make: Effect.Effect<Throttle, never, Database | Vault> = Effect.gen(function* () {
  const db = yield* Database
  const { sql } = db
  const vault = yield* Vault
  const keyOf = (limit: Limit, subject: string) => vault.mac(`throttle ${limit.kind}`, subject)

  const retryAfterSeconds: Throttle["retryAfterSeconds"] = Effect.fnUntraced(function* (limit, subject) {
    const at = toMillis(yield* now)
    const since = fromMillis(at - limit.windowMs)
    // A hit in the future is one from before the clock went back: it must not shut anybody out until then.
    const hits = yield* db.all(sql<{ hit_at: Timestamp }>`select hit_at from throttle_hits
      where subject = ${keyOf(limit, subject)} and hit_at > ${since} and hit_at <= ${fromMillis(at)} order by hit_at desc limit ${limit.max}`)
    const oldest = hits[limit.max - 1]
    return oldest === undefined ? undefined : Math.ceil((toMillis(oldest.hit_at) + limit.windowMs - at) / 1000)
  })
  const hit: Throttle["hit"] = Effect.fnUntraced(function* (limit, subject) {
    const row = { id: randomUUID(), subject: keyOf(limit, subject), hit_at: yield* now }
    yield* db.run(sql`insert into throttle_hits ${sql.insert(row)}`)
  })

  return {
    retryAfterSeconds,
    hit,
    take: Effect.fnUntraced(function* (limit, subject) {
      if ((yield* retryAfterSeconds(limit, subject)) !== undefined) return false
      yield* hit(limit, subject)
      return true
    }),
    clear: (limit, subject) => db.run(sql`delete from throttle_hits where subject = ${keyOf(limit, subject)}`),
    purge: Effect.flatMap(fromNow(-maxWindowMs), (oldest) =>
      db.run(sql`delete from throttle_hits where hit_at <= ${oldest}`)
    )
  }
})
