import { randomUUID } from "node:crypto"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { fromMillis, fromNow, now, type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { Vault } from "@reins/base/secrets/Vault"
import { Effect } from "effect"
import type { Commit } from "../store/Commit.js"
import { alone } from "../store/CommitLock.js"
import { Database } from "../store/Database.js"

/** At most `max` hits of one subject within any `windowMs`. Limits of different kinds count apart. */
export interface ThrottleLimit {
  readonly kind: string
  readonly max: number
  readonly windowMs: number
}

/** The subject of a count. A subject of two parts belongs to the group of its first part. */
export type ThrottleSubject = string | readonly [group: string, member: string]

/** Counts hits of subjects, across all processes. */
export interface Throttle {
  /** Whole seconds until the subject is below its limit. Undefined when it is below its limit now. */
  readonly retryAfterSeconds: (limit: ThrottleLimit, subject: ThrottleSubject) => Effect.Effect<number | undefined>
  /** Counts a hit and gives back true. At the limit it counts nothing and gives back false. Those that come at once are counted one by one. */
  readonly take: (limit: ThrottleLimit, subject: ThrottleSubject) => Effect.Effect<boolean, never, Commit>
  /** Counts a hit, also beyond the limit. */
  readonly hit: (limit: ThrottleLimit, subject: ThrottleSubject) => Effect.Effect<void, never, Commit>
  /** Forgets the hits of a subject. */
  readonly clear: (limit: ThrottleLimit, subject: ThrottleSubject) => Effect.Effect<void, never, Commit>
  /** Forgets the hits of all subjects of a group. */
  readonly clearGroup: (limit: ThrottleLimit, group: string) => Effect.Effect<void, never, Commit>
  /** Deletes the hits that are older than any window. The statement is a commit of its own. */
  readonly purge: Effect.Effect<void>
}

/** The longest window of a limit. */
const maxWindowMs = 60 * 60 * 1000

/** The most by which the clocks of machines that share a database differ, in milliseconds. */
const skewMs = 5000

/** Limits the mails that strangers can have sent to one address. It counts for addresses without an account too. */
export const mailLimit: ThrottleLimit = { kind: "mail", max: 3, windowMs: maxWindowMs }

/** The error for a caller that has come to a limit. `message` says when to try again. */
export const rateLimited = (
  name: string,
  limit: ThrottleLimit,
  retryAfterSeconds: number,
  message: string
): ReinsError<"rate_limited"> =>
  new ReinsError({
    code: "rate_limited",
    message,
    details: { policy: name, limit: limit.max, window_seconds: limit.windowMs / 1000 },
    retryAfterSeconds
  })

/**
 * Makes a throttle. Subjects are stored as keyed digests, because a subject may be an address that has no account here, or a password
 * that was typed into the wrong field.
 */
export const make: Effect.Effect<Throttle, never, Database | Vault> = Effect.gen(function* () {
  const db = yield* Database
  const { sql } = db
  const vault = yield* Vault
  const digestOf = (limit: ThrottleLimit, part: string) => vault.mac(`throttle ${limit.kind}`, part)
  const keyOf = (limit: ThrottleLimit, subject: ThrottleSubject) =>
    typeof subject === "string"
      ? digestOf(limit, subject)
      : `${digestOf(limit, subject[0])}.${digestOf(limit, subject[1])}`

  const retryAfterSeconds: Throttle["retryAfterSeconds"] = Effect.fnUntraced(function* (limit, subject) {
    const at = toMillis(yield* now)
    const since = fromMillis(at - limit.windowMs)
    // A hit in the future was counted before the clock went back. It must not lock anybody out until that time comes again. One of another machine
    // may be ahead by as much as their estimates of the time differ.
    const hits = yield* db.all(sql<{ hit_at: Timestamp }>`select hit_at from throttle_hits
      where subject = ${keyOf(limit, subject)} and hit_at > ${since} and hit_at <= ${fromMillis(at + skewMs)} order by hit_at desc limit ${limit.max}`)
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
      yield* alone(db, keyOf(limit, subject))
      if ((yield* retryAfterSeconds(limit, subject)) !== undefined) return false
      yield* hit(limit, subject)
      return true
    }),
    clear: (limit, subject) => db.run(sql`delete from throttle_hits where subject = ${keyOf(limit, subject)}`),
    clearGroup: (limit, group) =>
      db.run(sql`delete from throttle_hits where subject like ${`${digestOf(limit, group)}.%`}`),
    purge: Effect.flatMap(fromNow(-maxWindowMs), (oldest) =>
      db.run(sql`delete from throttle_hits where hit_at <= ${oldest}`)
    )
  }
})
