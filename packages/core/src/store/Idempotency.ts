import { Context, Effect, Either, Layer, Option, Redacted } from "effect"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import { ReinsError } from "../domain/ReinsError.js"
import { fromNow, now, type Timestamp } from "../domain/Timestamp.js"
import { Vault } from "../secrets/Vault.js"
import type { Command } from "./Command.js"
import { Database } from "./Database.js"
import { failedStatementOf } from "./FailedStatement.js"

/** An answer as it goes over the wire. `body` is null when the answer has none. */
export interface Answer {
  readonly status: number
  readonly body: string | null
}

export interface MutationRequest<A, E = never> {
  /** The principal, or the route and client address of an anonymous call. Keys of different scopes never meet. */
  readonly scope: string
  readonly key: string
  /** Method, path, query and canonical body: what must be equal for two requests to be the same. */
  readonly fingerprint: string
  /** Store the body sealed, since it holds a secret. */
  readonly sealed: boolean
  /** Errors besides `ReinsError` are never stored. */
  readonly command: Command<A, ReinsError | E>
  readonly encode: (result: A) => Answer
  readonly encodeError: (error: ReinsError) => Answer
}

export interface MutationAnswer {
  readonly answer: Answer
  readonly replayed: boolean
}

/** How long an answer can be replayed. */
export const retentionMs = 72 * 60 * 60 * 1000

/** Makes a mutation happen once: the same key and request give the same answer again, byte for byte. */
export class Idempotency extends Context.Tag("@reins/core/store/Idempotency")<
  Idempotency,
  {
    /**
     * Runs the command unless its answer is stored. The record commits with the command, so a crash leaves both or neither. Expected errors are stored too, but for 401, 403, 422, 429, 5xx and those that a retry may overcome. Fails with `idempotency_conflict` when the key was
     * used for another request and with `idempotency_in_progress` while the first call runs.
     */
    readonly run: <A, E = never>(request: MutationRequest<A, E>) => Effect.Effect<MutationAnswer, ReinsError | E>
    /** Deletes the records that can no longer be replayed. */
    readonly purge: Effect.Effect<void>
    /** Seals the stored answers with the current key of the ring, and gives back how many were not. */
    readonly rewrap: Effect.Effect<number>
    /** How many answers that can still be replayed need the key. */
    readonly countKeyedBy: (keyId: string) => Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    Idempotency,
    Effect.gen(function* () {
      const db = yield* Database
      const vault = yield* Vault
      const running = new Set<string>()
      const findAnswer = db.prepare(
        (scope: string, key: string) =>
          db.sql<AnswerRow>`select fingerprint, status, body, sealed, expires_at from idempotency
          where scope = ${scope} and key = ${key}`
      )
      const insertAnswer = db.prepareRow((row) => db.sql`insert into idempotency ${db.sql.insert(row)}`)

      const find = Effect.fnUntraced(function* <A, E>(request: MutationRequest<A, E>) {
        const at = yield* now
        const row = yield* db.first(findAnswer(request.scope, request.key))
        if (row === undefined) return undefined
        if (row.expires_at <= at) {
          // It makes room for the answer that comes.
          yield* db.run(db.sql`delete from idempotency
            where scope = ${request.scope} and key = ${request.key} and expires_at <= ${at}`)
          return undefined
        }
        if (!vault.verifyMac("idempotency", request.fingerprint, row.fingerprint)) return yield* conflict
        const body =
          row.sealed === 1 && row.body !== null
            ? Redacted.value(yield* Effect.orDie(vault.unseal(row.body, sealContext(request))))
            : row.body
        return { answer: { status: row.status, body }, replayed: true }
      })

      /** Another process may have answered the same request first: then its answer stands, and this transaction fails. */
      const store = Effect.fnUntraced(function* <A, E>(request: MutationRequest<A, E>, answer: Answer) {
        const body =
          request.sealed && answer.body !== null
            ? yield* vault.seal(Redacted.make(answer.body), sealContext(request))
            : answer.body
        yield* db.run(
          insertAnswer({
            scope: request.scope,
            key: request.key,
            fingerprint: vault.mac("idempotency", request.fingerprint),
            status: answer.status,
            body,
            sealed: request.sealed ? 1 : 0,
            created_at: yield* now,
            expires_at: yield* fromNow(retentionMs)
          })
        )
      })

      const execute = Effect.fnUntraced(function* <A, E>(request: MutationRequest<A, E>) {
        yield* failpoint("request.begun")
        let answer: Answer | undefined
        const record = (result: A) =>
          Effect.suspend(() => {
            answer = request.encode(result)
            return store(request, answer)
          })
        const outcome = yield* Effect.either(request.command.answered(record))
        if (Either.isLeft(outcome)) {
          const error = outcome.left
          if (!(error instanceof ReinsError) || !isStored(error)) return yield* Effect.fail(error)
          answer = request.encodeError(error)
          yield* store(request, answer)
        }
        if (answer === undefined) return yield* Effect.dieMessage("a command ended without its commit")
        yield* failpoint("request.committed")
        return { answer, replayed: false }
      })

      return Idempotency.of({
        run: fn("Idempotency.run")(function* <A, E>(request: MutationRequest<A, E>) {
          const stored = yield* find(request)
          if (stored !== undefined) return stored
          const place = `${request.scope}\n${request.key}`
          const answered = Effect.catchSomeDefect(execute(request), (defect) =>
            isDuplicate(defect) ? Option.some(replayOr(request, defect)) : Option.none()
          )
          return yield* Effect.uninterruptibleMask((restore) =>
            Effect.suspend(() => {
              if (running.has(place)) return inProgress
              running.add(place)
              return Effect.flatMap(Effect.exit(restore(answered)), (exit) => {
                running.delete(place)
                return exit
              })
            })
          )
        }),
        purge: Effect.flatMap(now, (at) => db.run(db.sql`delete from idempotency where expires_at <= ${at}`)),
        rewrap: Effect.gen(function* () {
          const rows = yield* db.all(db.sql<{ scope: string; key: string; body: string }>`
          select scope, key, body from idempotency where sealed = 1 and body is not null`)
          const changed = yield* Effect.forEach(rows, (row) =>
            Effect.flatMap(
              Effect.option(vault.rewrap(row.body, sealContext(row))),
              Option.match({
                // What cannot be opened is left as it is; it expires.
                onNone: () => Effect.succeed(false),
                onSome: (body) =>
                  body === row.body
                    ? Effect.succeed(false)
                    : Effect.as(
                        db.run(db.sql`update idempotency set body = ${body}
                        where scope = ${row.scope} and key = ${row.key} and body = ${row.body}`),
                        true
                      )
              })
            )
          )
          return changed.filter((each) => each).length
        }),
        countKeyedBy: fn("Idempotency.countKeyedBy")(function* (keyId) {
          const at = yield* now
          const row = yield* db.first(db.sql<{ count: number }>`
          select cast(count(*) as integer) as count from idempotency where expires_at > ${at}
            and (fingerprint like ${`${keyId}.%`} or (sealed = 1 and body like ${`%"key_id":"${keyId}"%`}))`)
          return row?.count ?? 0
        })
      })

      /** The answer that another process has stored meanwhile; without one the defect is another. */
      function replayOr<A, E>(request: MutationRequest<A, E>, defect: unknown) {
        return Effect.flatMap(find(request), (stored) =>
          stored === undefined ? Effect.die(defect) : Effect.succeed(stored)
        )
      }
    })
  )
}

interface AnswerRow {
  readonly fingerprint: string
  readonly status: number
  readonly body: string | null
  readonly sealed: number
  readonly expires_at: Timestamp
}

/** A row was there already that may be there once. */
const isDuplicate = (defect: unknown): boolean =>
  ["23505", "SQLITE_CONSTRAINT_PRIMARYKEY"].includes(failedStatementOf(defect)?.code ?? "")

const sealContext = (request: { readonly scope: string; readonly key: string }) =>
  `idempotency|${request.scope}|${request.key}`

/** What a repetition may answer differently is not kept: it would turn a passing failure into a lasting one. */
const isStored = (error: ReinsError): boolean =>
  !error.retryable && error.status < 500 && ![401, 403, 422, 429].includes(error.status)

const conflict = new ReinsError({
  code: "idempotency_conflict",
  message: "This Idempotency-Key was used for a different request. Send a new key for a new request."
})

const inProgress = new ReinsError({
  code: "idempotency_in_progress",
  message: "The first request with this Idempotency-Key is still running. Send it again in a moment.",
  retryAfterSeconds: 1
})
