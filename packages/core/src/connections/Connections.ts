import { Context, Effect, Either, Layer, Redacted, Schema } from "effect"
import { Access } from "../access/Access.js"
import type { ConnectionInput, ConnectionPatch, CredentialVersionInput } from "../api/ConnectionsApi.js"
import { fn } from "../base/Traced.js"
import {
  type Connection,
  type ConnectionHealth,
  type ConnectionKind,
  type ConnectionState,
  connectionStates
} from "../domain/Connection.js"
import { ConnectionId, CredentialId, newId, type WorkspaceId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import type { RequestInvalid } from "../domain/RequestInvalid.js"
import { now, type Timestamp } from "../domain/Timestamp.js"
import { Vault } from "../secrets/Vault.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { expectVersion } from "../store/Version.js"
import { type CredentialParts, partsOf } from "./CredentialParts.js"
import { ValidationStore } from "./ValidationStore.js"

/** A connection ready to be used: what is readable of it, and its secrets in the clear. For workers, never for an answer. */
export interface OpenConnection {
  readonly id: ConnectionId
  readonly credentialId: CredentialId
  readonly kind: ConnectionKind
  readonly settings: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, Redacted.Redacted>>
  readonly preferredModel: string | null
}

/** The refusals of a connection that is absent, revoked or disabled. */
export type Inactive = ReinsError<"not_found" | "connection_revoked" | "connection_required">

/** The refusals of a connection whose secrets cannot be used. */
export type Unopened = ReinsError<"not_found" | "connection_revoked" | "connection_required" | "credential_invalid">

/** Provider and forge credentials. A secret goes in and is sealed; it is opened only to be used, and never comes back. */
export class Connections extends Context.Tag("@reins/core/connections/Connections")<
  Connections,
  {
    readonly list: (
      principal: Principal,
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Connection>, ReinsError>
    readonly create: (
      principal: Principal,
      workspaceId: string,
      input: ConnectionInput
    ) => Command<Connection, ReinsError | RequestInvalid>
    readonly get: (principal: Principal, connectionId: string) => Effect.Effect<Connection, ReinsError>
    readonly update: (
      principal: Principal,
      connectionId: string,
      patch: ConnectionPatch
    ) => Command<Connection, ReinsError>
    readonly replaceCredential: (
      principal: Principal,
      connectionId: string,
      input: CredentialVersionInput
    ) => Command<Connection, ReinsError | RequestInvalid>
    /** Revokes the connection and destroys its sealed secrets. Fails with `connection_in_use` while a turn runs with it. */
    readonly disconnect: (principal: Principal, connectionId: string) => Command<Connection, ReinsError>
    /** The active connection of that id in the workspace; fails with `not_found`, `connection_revoked` or `connection_required`. */
    readonly open: (workspaceId: WorkspaceId, connectionId: string) => Effect.Effect<OpenConnection, Unopened>
    /** The model that sessions with the connection take when they name none. Fails as `open` does, and opens no secret. */
    readonly preferredModel: (workspaceId: WorkspaceId, connectionId: string) => Effect.Effect<string | null, Inactive>
    /** The newest active connection of a kind in the workspace. */
    readonly findByKind: (workspaceId: WorkspaceId, kind: string) => Effect.Effect<ConnectionId | undefined>
    /** That version of the connection's credential, whatever the state of the connection. Fails when it was replaced or revoked. */
    readonly openVersion: (
      connectionId: ConnectionId,
      credentialId: CredentialId
    ) => Effect.Effect<OpenConnection, ReinsError>
    /** The active connection that the principal may use, held until the commit ends, with its current credential version. Fails as `open` does. */
    readonly usable: (
      principal: Principal,
      connectionId: string
    ) => Effect.Effect<
      { readonly id: ConnectionId; readonly workspaceId: WorkspaceId; readonly credentialId: CredentialId },
      ReinsError,
      Commit
    >
    /** Keeps everybody else from changing the connection until the commit ends. */
    readonly hold: (connectionId: ConnectionId) => Effect.Effect<void, never, Commit>
    /** What a use of a credential version told of it. It says nothing of the connection once that version was replaced. */
    readonly observe: (
      connectionId: ConnectionId,
      credentialId: CredentialId,
      health: ConnectionHealth
    ) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    Connections,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const access = yield* Access
      const vault = yield* Vault
      const validations = yield* ValidationStore
      const sql = db.sql
      const columns = sql.literal(`connections.*, credentials.ordinal, credentials.fingerprint, credentials.last4,
      credentials.sealed, credentials.created_at as credential_created_at`)
      const from = sql.literal("connections left join credentials on credentials.id = connections.credential_id")

      const byId = db.prepare(
        (id: string) => sql<ConnectionRow>`select ${columns} from ${from} where connections.id = ${id}`
      )
      const newestOf = db.prepare(
        (workspaceId: string, kind: string) =>
          sql<{ id: ConnectionId }>`select id from connections where workspace_id = ${workspaceId} and state = 'active'
          and kind = ${kind} order by id desc limit 1`
      )
      const find = (id: string) => db.first(byId(id))
      const locked = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const owner = yield* db.first(
          sql<{ workspace_id: string }>`select workspace_id from connections where id = ${id}${db.forUpdate}`
        )
        if (owner === undefined) return yield* notFound()
        yield* access.write(principal, owner.workspace_id)
        const row = yield* find(id)
        return row ?? (yield* notFound())
      })
      const requireLive = (row: ConnectionRow) => (row.state === "revoked" ? Effect.fail(revoked(row.id)) : Effect.void)
      const read = (id: string) => Effect.map(find(id), (row) => (row === undefined ? undefined : toConnection(row)))
      const answer = (id: string) =>
        Effect.flatMap(read(id), (connection) => (connection ? Effect.succeed(connection) : Effect.fail(notFound())))

      const addCredential = Effect.fnUntraced(function* (
        row: { readonly id: ConnectionId; readonly ordinal: number },
        parts: CredentialParts
      ) {
        const id = yield* newId(CredentialId)
        const at = yield* now
        yield* validations.supersede(row.id)
        const sealed = yield* vault.seal(Redacted.make(JSON.stringify(parts.secrets)), credentialContext(row.id, id))
        yield* db.run(
          sql`update credentials set state = 'superseded', sealed = null where connection_id = ${row.id} and state = 'current'`
        )
        yield* db.run(
          sql`insert into credentials ${sql.insert({
            id,
            connection_id: row.id,
            ordinal: row.ordinal,
            state: "current",
            sealed,
            last4: parts.last4,
            created_at: at,
            fingerprint: vault.mac("credential fingerprint", parts.fingerprintOf).split(".")[1]?.slice(0, 16) ?? ""
          })}`
        )
        yield* db.run(sql`update connections set credential_id = ${id}, settings = ${JSON.stringify(parts.settings)},
        health = 'unverified', updated_at = ${at} where id = ${row.id}`)
      })

      const requireActive = Effect.fnUntraced(function* (row: ConnectionRow) {
        yield* requireLive(row)
        if (row.state === "disabled" || row.credential_id === null) {
          return yield* new ReinsError({
            code: "connection_required",
            message: "The connection is disabled. Enable it, or choose another one.",
            details: { connection_id: row.id }
          })
        }
        return row.credential_id
      })
      const active = Effect.fnUntraced(function* (
        workspaceId: WorkspaceId,
        connectionId: string
      ): Effect.fn.Return<ConnectionRow, Inactive> {
        const row = yield* find(connectionId)
        if (row === undefined || row.workspace_id !== workspaceId) return yield* notFound()
        yield* requireActive(row)
        return row
      })
      const unseal = Effect.fnUntraced(function* (
        row: ConnectionRow
      ): Effect.fn.Return<OpenConnection, ReinsError<"connection_revoked" | "credential_invalid">> {
        if (row.sealed === null || row.credential_id === null) return yield* revoked(row.id)
        const opened = yield* Effect.either(vault.unseal(row.sealed, credentialContext(row.id, row.credential_id)))
        if (Either.isLeft(opened)) {
          return yield* new ReinsError({
            code: "credential_invalid",
            message:
              opened.left.reason === "key_unknown"
                ? "The credential is sealed with a key that is not in this server's key ring. Restore that key, or give the credential again."
                : "The stored credential cannot be opened. Give it again with a new credential version.",
            details: { connection_id: row.id }
          })
        }
        const secrets = Schema.decodeSync(SecretsJson)(Redacted.value(opened.right))
        return {
          id: row.id,
          credentialId: row.credential_id,
          kind: row.kind,
          settings: JSON.parse(row.settings),
          preferredModel: row.preferred_model,
          secrets: Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, Redacted.make(value)]))
        }
      })

      return Connections.of({
        list: fn("Connections.list")(function* (principal, workspaceId, page) {
          yield* access.read(principal, workspaceId)
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<ConnectionRow>`select ${columns} from ${from}
          where connections.workspace_id = ${workspaceId} and connections.id < ${before} order by connections.id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toConnection), limit, (connection) => connection.id)
        }),
        create: (principal, workspaceId, input) =>
          journal.prepared(
            "Connections.create",
            Effect.gen(function* () {
              const parts = yield* partsOf(input.kind, input.credential)
              return Effect.gen(function* () {
                yield* access.write(principal, workspaceId)
                const id = yield* newId(ConnectionId)
                const at = yield* now
                yield* db.run(
                  sql`insert into connections ${sql.insert({
                    id,
                    workspace_id: workspaceId,
                    kind: input.kind,
                    label: input.label,
                    settings: "{}",
                    state: "active",
                    health: "unverified",
                    version: 1,
                    created_at: at,
                    updated_at: at
                  })}`
                )
                yield* addCredential({ id, ordinal: 1 }, parts)
                return yield* answer(id)
              })
            })
          ),
        get: fn("Connections.get")(function* (principal, connectionId) {
          const connection = yield* answer(connectionId)
          yield* access.read(principal, connection.workspace_id)
          return connection
        }),
        update: (principal, connectionId, patch) =>
          journal.command(
            "Connections.update",
            Effect.gen(function* () {
              const row = yield* locked(principal, connectionId)
              yield* expectVersion(row.version, patch.expected_version)
              yield* requireLive(row)
              if (patch.state !== undefined && patch.state !== row.state)
                yield* connectionStates.check(row.state, patch.state)
              const at = yield* now
              yield* db.run(sql`update connections set label = ${patch.label ?? row.label}, state = ${patch.state ?? row.state},
            preferred_model = ${patch.preferred_model === undefined ? row.preferred_model : patch.preferred_model},
            version = version + 1, updated_at = ${at} where id = ${row.id}`)
              return yield* answer(row.id)
            })
          ),
        replaceCredential: (principal, connectionId, input) =>
          journal.command(
            "Connections.replaceCredential",
            Effect.gen(function* () {
              const row = yield* locked(principal, connectionId)
              yield* expectVersion(row.version, input.expected_version)
              yield* requireLive(row)
              const parts = yield* partsOf(row.kind, input.credential)
              yield* addCredential({ id: row.id, ordinal: (row.ordinal ?? 0) + 1 }, parts)
              yield* db.run(sql`update connections set version = version + 1 where id = ${row.id}`)
              return yield* answer(row.id)
            })
          ),
        disconnect: (principal, connectionId) =>
          journal.command(
            "Connections.disconnect",
            Effect.gen(function* () {
              const row = yield* locked(principal, connectionId)
              yield* requireLive(row)
              const used = yield* db.first(sql<{
                id: string
              }>`select turns.id from turns join sessions on sessions.id = turns.session_id
            where sessions.connection_id = ${row.id} and turns.state in ('preparing', 'running', 'requires_action', 'cancelling') limit 1`)
              if (used !== undefined) {
                return yield* new ReinsError({
                  code: "connection_in_use",
                  message: "A turn is running with this connection. Cancel it or wait until it has ended.",
                  details: { turn_id: used.id }
                })
              }
              const at = yield* now
              yield* validations.supersede(row.id)
              yield* db.run(
                sql`update credentials set state = 'revoked', sealed = null where connection_id = ${row.id}`
              )
              yield* db.run(
                sql`update connections set state = 'revoked', version = version + 1, updated_at = ${at} where id = ${row.id}`
              )
              return yield* answer(row.id)
            })
          ),
        open: fn("Connections.open")((workspaceId, connectionId) =>
          Effect.flatMap(active(workspaceId, connectionId), unseal)
        ),
        preferredModel: (workspaceId, connectionId) =>
          Effect.map(active(workspaceId, connectionId), (row) => row.preferred_model),
        openVersion: fn("Connections.openVersion")(function* (connectionId, credentialId) {
          const row = yield* find(connectionId)
          return row?.credential_id === credentialId ? yield* unseal(row) : yield* notFound()
        }),
        usable: fn("Connections.usable")(function* (principal, connectionId) {
          const row = yield* locked(principal, connectionId)
          return { id: row.id, workspaceId: row.workspace_id, credentialId: yield* requireActive(row) }
        }),
        hold: (connectionId) =>
          Effect.asVoid(db.first(sql`select id from connections where id = ${connectionId}${db.forUpdate}`)),
        findByKind: (workspaceId, kind) => Effect.map(db.first(newestOf(workspaceId, kind)), (row) => row?.id),
        observe: (connectionId, credentialId, health) =>
          db.run(sql`update connections set health = ${health} where id = ${connectionId}
          and credential_id = ${credentialId} and state <> 'revoked'`)
      })
    })
  )
}

const SecretsJson = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.String }))

/** What a credential is sealed for. */
export const credentialContext = (connectionId: string, credentialId: string) =>
  `credential|${connectionId}|${credentialId}`

const revoked = (id: string): ReinsError<"connection_revoked"> =>
  new ReinsError({
    code: "connection_revoked",
    message: "The connection was revoked and its credentials destroyed. Create a new connection.",
    details: { connection_id: id }
  })

interface ConnectionRow {
  readonly id: ConnectionId
  readonly workspace_id: WorkspaceId
  readonly kind: ConnectionKind
  readonly label: string
  readonly settings: string
  readonly state: ConnectionState
  readonly health: ConnectionHealth
  readonly preferred_model: string | null
  readonly credential_id: CredentialId | null
  readonly ordinal: number | null
  readonly fingerprint: string | null
  readonly last4: string | null
  readonly sealed: string | null
  readonly credential_created_at: Timestamp | null
  readonly version: number
  readonly created_at: Timestamp
  readonly updated_at: Timestamp
}

const toConnection = (row: ConnectionRow): Connection => ({
  id: row.id,
  workspace_id: row.workspace_id,
  kind: row.kind,
  label: row.label,
  settings: JSON.parse(row.settings),
  state: row.state,
  health: row.health,
  preferred_model: row.preferred_model,
  credential:
    row.credential_id === null || row.ordinal === null || row.fingerprint === null || row.credential_created_at === null
      ? null
      : {
          id: row.credential_id,
          ordinal: row.ordinal,
          fingerprint: row.fingerprint,
          last4: row.last4,
          created_at: row.credential_created_at
        },
  version: row.version,
  created_at: row.created_at,
  updated_at: row.updated_at
})
