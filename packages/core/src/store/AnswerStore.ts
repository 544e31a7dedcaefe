import { fn } from "@reins/base/base/Traced"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Vault } from "@reins/base/secrets/Vault"
import { Effect, Option, Redacted } from "effect"
import { type AnswerScope, isInTheWay, isVisible, placesOf, storedScope } from "./AnswerPlace.js"
import { Database } from "./Database.js"

/** An answer as it goes over the wire. `body` is null when the answer has none. */
export interface StoredAnswer {
  readonly status: number
  readonly body: string | null
}

/** The words that tell one mutation from others. */
export interface AnswerKey extends AnswerScope {
  readonly key: string
  /** Method, path, query and canonical body. Two requests are the same when these are equal. */
  readonly fingerprint: string
  /** True when the body holds a secret, and is stored sealed. */
  readonly sealed: boolean
}

/** With the place of its answer. */
export type Placed<Key extends AnswerKey = AnswerKey> = Key & { readonly place: string }

/** The answer to a request, or the place that is free for it. */
export type Found = { readonly answer: StoredAnswer } | { readonly answer?: never; readonly place: string }

/** The time for which an answer can be replayed, in milliseconds. */
export const retentionMs = 72 * 60 * 60 * 1000

interface AnswerRow {
  readonly place: string
  readonly scope: string
  readonly fingerprint: string
  readonly status: number
  readonly body: string | null
  readonly sealed: number
  readonly expires_at: Timestamp
}

/** The stored answers: the rows of `idempotency`. */
export const make = Effect.map(Effect.all([Database, Vault]), ([db, vault]) => {
  const { sql } = db
  const findAnswers = db.prepare(
    (account: string, workspace: string, before: string) =>
      sql<AnswerRow>`select place, scope, fingerprint, status, body, sealed, expires_at from idempotency
        where place in (${account}, ${workspace}, ${before})`
  )
  const insertAnswer = db.prepareRow((row) => sql`insert into idempotency ${sql.insert(row)}`)
  return {
    /** The stored answer to a request, or a place for it. Fails when the key was used for another request, or out of the caller's sight. */
    find: Effect.fnUntraced(function* (request: AnswerKey) {
      const at = yield* now
      const places = placesOf(request)
      const rows: Array<AnswerRow> = []
      for (const row of yield* db.all(findAnswers(...places)))
        if (row.expires_at > at) rows.push(row)
        // It makes room for the answer that comes.
        else yield* db.run(sql`delete from idempotency where place = ${row.place} and expires_at <= ${at}`)
      const same = rows.find((row) => vault.verifyMac("idempotency", request.fingerprint, row.fingerprint))
      if (same === undefined) {
        if (rows.some(({ scope }) => isInTheWay(request, scope))) return yield* conflict
        const [account, workspace] = places
        const found: Found = { place: rows.some(({ place }) => place === account) ? workspace : account }
        return found
      }
      if (!isVisible(request, same.scope)) return yield* usedElsewhere
      const body =
        same.sealed === 1 && same.body !== null
          ? Redacted.value(yield* Effect.orDie(vault.unseal(same.body, sealContext(same.scope, request.key))))
          : same.body
      const found: Found = { answer: { status: same.status, body } }
      return found
    }),

    /**
     * Stores an answer, in the open transaction if there is one. Dies when another process has answered the request first: that answer
     * stands.
     */
    insert: Effect.fnUntraced(function* (request: Placed, answer: StoredAnswer) {
      const body =
        request.sealed && answer.body !== null
          ? yield* vault.seal(Redacted.make(answer.body), sealContext(storedScope(request), request.key))
          : answer.body
      yield* db.run(
        insertAnswer({
          place: request.place,
          scope: storedScope(request),
          key: request.key,
          fingerprint: vault.mac("idempotency", request.fingerprint),
          status: answer.status,
          body,
          sealed: request.sealed ? 1 : 0,
          expires_at: yield* fromNow(retentionMs)
        })
      )
    }),

    purge: Effect.flatMap(now, (at) => db.run(sql`delete from idempotency where expires_at <= ${at}`)),

    rewrap: Effect.gen(function* () {
      const rows = yield* db.all(sql<SealedRow>`select place, scope, key, body from idempotency
        where sealed = 1 and body is not null`)
      const changed = yield* Effect.forEach(rows, (row) => rewrapRow(db, vault, row))
      return changed.filter((each) => each).length
    }),

    countKeyedBy: fn("Idempotency.countKeyedBy")(function* (keyId: string) {
      const at = yield* now
      const row = yield* db.first(sql<{ count: number }>`
        select cast(count(*) as integer) as count from idempotency where expires_at > ${at}
          and (fingerprint like ${`${keyId}.%`} or (sealed = 1 and body like ${`%"key_id":"${keyId}"%`}))`)
      return row?.count ?? 0
    })
  }
})

export type AnswerStore = Effect.Effect.Success<typeof make>

interface SealedRow {
  readonly place: string
  readonly scope: string
  readonly key: string
  readonly body: string
}

/** Seals a stored answer with the current key. False when it had that key already, or cannot be opened; it is then left to expire. */
const rewrapRow = (db: Database["Type"], vault: Vault["Type"], row: SealedRow) =>
  Effect.flatMap(
    Effect.option(vault.rewrap(row.body, sealContext(row.scope, row.key))),
    Option.match({
      onNone: () => Effect.succeed(false),
      onSome: (body) =>
        body === row.body
          ? Effect.succeed(false)
          : Effect.as(
              db.run(db.sql`update idempotency set body = ${body} where place = ${row.place} and body = ${row.body}`),
              true
            )
    })
  )

const sealContext = (scope: string, key: string): string => `idempotency|${scope}|${key}`

const conflict = new ReinsError({
  code: "idempotency_conflict",
  message: "This Idempotency-Key was used for a different request. Send a new key for a new request."
})

const usedElsewhere = new ReinsError({
  code: "idempotency_conflict",
  message:
    "This Idempotency-Key was used for the same request with other credentials of the account, which alone may have its answer again. " +
    "Look what it has done, or send a new key for a new request."
})
