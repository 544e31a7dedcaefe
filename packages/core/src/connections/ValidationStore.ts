import { fn } from "@reins/base/base/Traced"
import { type AccountId, type ConnectionId, type CredentialId, newId, ValidationId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import {
  type ConnectionValidation,
  type ConnectionValidationReason,
  type ConnectionValidationState,
  connectionValidationStates,
  type Observation
} from "./ConnectionValidation.js"

/** A move of a validation, with the result that is written with it. */
export interface ValidationChange {
  readonly state: Exclude<ConnectionValidationState, "queued">
  readonly reason?: ConnectionValidationReason
  readonly reasonMessage?: string
  readonly observations?: ReadonlyArray<Observation>
  readonly privateEmail?: string
}

/** The validations of connections as they are stored. The store checks no access. */
export class ValidationStore extends Context.Tag("@reins/core/connections/ValidationStore")<
  ValidationStore,
  {
    readonly find: (id: string) => Effect.Effect<ConnectionValidation | undefined>
    /** The validations of a connection, newest first. Fails with `invalid_cursor`. */
    readonly list: (
      connectionId: ConnectionId,
      page: PageRequest
    ) => Effect.Effect<Page<ConnectionValidation>, ReinsError<"invalid_cursor">>
    /** The queued or running validation of a credential version; undefined when there is none. */
    readonly findLive: (credentialId: CredentialId) => Effect.Effect<ConnectionValidation | undefined>
    /** The newest validation of a credential version that has observations; undefined when there is none. */
    readonly findObserved: (credentialId: CredentialId) => Effect.Effect<ConnectionValidation | undefined>
    /** The private addresses for commits of the forge accounts whose tokens an account has posted. Tokens that were replaced count no more. */
    readonly privateEmails: (accountId: AccountId) => Effect.Effect<ReadonlyArray<string>>
    /** Adds a queued validation. */
    readonly create: (
      connectionId: ConnectionId,
      credentialId: CredentialId
    ) => Effect.Effect<ConnectionValidation, never, Commit>
    /** Moves a validation that has not ended. False when it had ended, and it then stays as it is. */
    readonly move: (id: ValidationId, change: ValidationChange) => Effect.Effect<boolean, never, Commit>
    /** Ends the validations that have not ended, because their credential version is no longer the current one. */
    readonly supersede: (connectionId: ConnectionId) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    ValidationStore,
    Effect.gen(function* () {
      const db = yield* Database
      const sql = db.sql
      const select = sql.literal(`select connection_validations.*, credentials.ordinal from connection_validations
      join credentials on credentials.id = connection_validations.credential_id`)
      const live = sql.literal("connection_validations.state in ('queued', 'running')")

      const find = (id: string) =>
        Effect.map(db.first(sql<ValidationRow>`${select} where connection_validations.id = ${id}`), toValidation)

      const move = fn("ValidationStore.move")(function* (id: ValidationId, change: ValidationChange) {
        const row = yield* db.first(
          sql<ValidationRow>`select * from connection_validations where id = ${id}${db.forUpdate}`
        )
        if (row === undefined || connectionValidationStates.isTerminal(row.state)) return false
        yield* Effect.orDie(connectionValidationStates.check(row.state, change.state))
        const at = yield* now
        yield* db.run(
          sql`update connection_validations set ${sql.update({
            state: change.state,
            reason: change.reason ?? null,
            reason_message: change.reasonMessage ?? null,
            observations: JSON.stringify(change.observations ?? []),
            private_email: change.privateEmail ?? null,
            started_at: change.state === "running" ? at : row.started_at,
            finished_at: connectionValidationStates.isTerminal(change.state) ? at : null
          })} where id = ${id}`
        )
        return true
      })

      return ValidationStore.of({
        find,
        list: fn("ValidationStore.list")(function* (connectionId, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<ValidationRow>`${select}
          where connection_validations.connection_id = ${connectionId} and connection_validations.id < ${before}
          order by connection_validations.id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(fromRow), limit, (validation) => validation.id)
        }),
        findLive: (credentialId) =>
          Effect.map(
            db.first(sql<ValidationRow>`${select} where credentials.id = ${credentialId} and ${live}
            order by connection_validations.id desc limit 1`),
            toValidation
          ),
        findObserved: (credentialId) =>
          Effect.map(
            db.first(sql<ValidationRow>`${select} where credentials.id = ${credentialId} and observations <> '[]'
            order by connection_validations.id desc limit 1`),
            toValidation
          ),
        privateEmails: (accountId) =>
          Effect.map(
            db.all(sql<{ private_email: string }>`select distinct private_email from connection_validations
              join credentials on credentials.id = connection_validations.credential_id
              where posted_by = ${accountId} and credentials.state = 'current'
                and connection_validations.state = 'passed' and private_email is not null`),
            (rows) => rows.map((row) => row.private_email.toLowerCase())
          ),
        create: fn("ValidationStore.create")(function* (connectionId, credentialId) {
          const id = yield* newId(ValidationId)
          yield* db.run(
            sql`insert into connection_validations ${sql.insert({
              id,
              connection_id: connectionId,
              credential_id: credentialId,
              state: "queued",
              observations: "[]",
              created_at: yield* now
            })}`
          )
          const validation = yield* find(id)
          return validation ?? (yield* Effect.dieMessage(`the validation ${id} is gone`))
        }),
        move,
        supersede: fn("ValidationStore.supersede")(function* (connectionId) {
          const rows = yield* db.all(
            sql<{
              id: ValidationId
            }>`select id from connection_validations where connection_id = ${connectionId} and ${live}`
          )
          yield* Effect.forEach(rows, ({ id }) => move(id, { state: "superseded" }), { discard: true })
        })
      })
    })
  )
}

interface ValidationRow extends Omit<ConnectionValidation, "credential" | "observations"> {
  readonly credential_id: CredentialId
  readonly ordinal: number
  readonly observations: string
  readonly private_email: string | null
  readonly started_at: Timestamp | null
}

const fromRow = ({
  credential_id,
  observations,
  ordinal,
  private_email: _,
  ...row
}: ValidationRow): ConnectionValidation => ({
  ...row,
  credential: { id: credential_id, ordinal },
  observations: JSON.parse(observations)
})

const toValidation = (row: ValidationRow | undefined): ConnectionValidation | undefined =>
  row === undefined ? undefined : fromRow(row)
