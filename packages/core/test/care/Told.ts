import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { CareReason } from "@reins/core/care/Care"
import { reasonMessages } from "@reins/core/care/Reasons"
import { Database } from "@reins/core/store/Database"
import { within } from "@reins/testing/MachineTime"
import { Effect, Schedule } from "effect"
import type { opened } from "./Cared.js"

/** A cared-for merge request of a test. */
export type Opened = Effect.Effect.Success<ReturnType<typeof opened<never>>>

/** Fails a wait that takes a minute, and names what it waited for. */
const inAMinute = (isSo: (value: never) => boolean) => within(60, String(isSo))

/** Reads until it is so. */
export const waitFor = <A, E, R>(get: Effect.Effect<A, E, R>, isSo: (value: A) => boolean): Effect.Effect<A, E, R> =>
  Effect.repeat(get, { schedule: Schedule.spaced("100 millis"), until: isSo }).pipe(
    inAMinute(isSo),
    Effect.zipRight(get)
  )

/** A look asks git and the forge, so this many milliseconds pass between two. What is known is read in between. */
const betweenLooks = 200

/** Has `asked` done at the first time, and then once in a while. */
export const onceInAWhile = <E, R>(asked: Effect.Effect<unknown, E, R>): Effect.Effect<void, E, R> => {
  let askedAt = Number.NEGATIVE_INFINITY
  return Effect.suspend(() => {
    if (performance.now() - askedAt < betweenLooks) return Effect.void
    askedAt = performance.now()
    return Effect.asVoid(asked)
  })
}

/** Looks until it is so. */
export const lookFor = <A, E, R>(
  { ring }: { readonly ring: Effect.Effect<unknown, unknown> },
  get: Effect.Effect<A, E, R>,
  isSo: (value: A) => boolean
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const seen: Effect.Effect<A, E, R> = Effect.zipRight(onceInAWhile(Effect.orDie(ring)), get)
    return Effect.repeat(seen, { schedule: Schedule.spaced("100 millis"), until: (value: A) => isSo(value) })
  }).pipe(inAMinute(isSo), Effect.zipRight(get))

/** Waits for so many more looks that have ended, whether the forge could be read or not. */
export const looksPass = (given: Opened, count: number) =>
  Effect.gen(function* () {
    const { forge, ring } = given
    for (let look = 0; look < count; look++) {
      const before = forge.seen.filter(({ path }) => /\/(?:pulls|merge_requests)\/\d+$/.test(path)).length
      yield* Effect.orDie(ring)
      yield* waitFor(
        Effect.sync(() => forge.seen.filter(({ path }) => /\/(?:pulls|merge_requests)\/\d+$/.test(path)).length),
        (now) => now > before
      )
      yield* waitFor(isFree(given.id), (free) => free)
    }
  })

/** True when no look is under way and none is due, also when the merge request has ended. */
const isFree = (id: string) =>
  Effect.flatMap(Database, ({ first, sql }) =>
    Effect.map(
      first(sql<{ rung: number }>`select rung from watches where merge_request_id = ${id}
        and (holder is not null or look_at <= ${new Date(Date.now() + 1_000).toISOString()})`),
      (row) => row === undefined
    )
  )

/** Changes what the watch of a merge request remembers. */
export const remember = (id: string, change: (memory: Record<string, unknown>) => Record<string, unknown>) =>
  Effect.gen(function* () {
    const { first, run, sql } = yield* Database
    const row = yield* first(sql<{ memory: string }>`select memory from watches where merge_request_id = ${id}`)
    const memory = change(JSON.parse(row?.memory ?? "{}"))
    yield* run(sql`update watches set memory = ${JSON.stringify(memory)} where merge_request_id = ${id}`)
  })

export const memoryOf = (id: string): Effect.Effect<Record<string, unknown>, never, Database> =>
  Effect.flatMap(Database, ({ first, sql }) =>
    Effect.map(first(sql<{ memory: string }>`select memory from watches where merge_request_id = ${id}`), (row) =>
      JSON.parse(row?.memory ?? "{}")
    )
  )

const namesIn = (directory: string): ReadonlyArray<string> => {
  try {
    return readdirSync(directory).filter((name) => name.endsWith(".eml"))
  } catch {
    return []
  }
}

/** The mails about a merge request, with their long lines whole. */
export const mailsOf = (id: string) =>
  Effect.map(CoreConfig, ({ dataDir }) => {
    const outbox = join(dataDir, "outbox")
    const mails = namesIn(outbox).map((name) => readFileSync(join(outbox, name), "utf8").replaceAll(/=\r?\n/g, ""))
    return mails.filter((mail) => mail.includes(id))
  })

/**
 * Looks until a person was asked for a reason. There has to be one event, one mail and one comment of it, with its sentence. A forge that refuses has no
 * comment.
 */
export const handsOver = (given: Opened, reason: CareReason, { comments = 1 }: { readonly comments?: 0 | 1 } = {}) =>
  Effect.gen(function* () {
    const care = yield* lookFor(given, given.care, ({ state }) => state === "handed_over")
    const sentence = reasonMessages[reason]
    assert.deepInclude(care, { reason, reason_message: sentence }, JSON.stringify(care))
    const events = yield* given.told("merge_request.care_handed_over")
    assert.lengthOf(events, 1)
    assert.deepInclude(Object(events[0]?.payload), { reason, reason_message: sentence, state: "handed_over" })
    const [mail, ...others] = yield* waitFor(mailsOf(given.id), ({ length }) => length > 0)
    assert.lengthOf(others, 0)
    assert.include(mail, "A merge request needs you")
    const told = Effect.sync(() => given.forge.comments.filter(({ body }) => body.includes(sentence)))
    assert.lengthOf(yield* waitFor(told, ({ length }) => length >= comments), comments)
    return care
  })
