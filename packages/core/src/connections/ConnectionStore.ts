import { fn } from "@reins/base/base/Traced"
import { type AccountId, ConnectionId, CredentialId, newId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import { Vault } from "@reins/base/secrets/Vault"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import { type Connection, type ConnectionHealth, connectionStates } from "./Connection.js"
import { type ConnectionRow, disabled, revoked, toConnection } from "./ConnectionRow.js"
import type { CredentialParts } from "./CredentialParts.js"
import { credentialFingerprint, openSecrets, type SealedFor, sealSecrets } from "./CredentialSeal.js"
import type { OpenConnection } from "./OpenConnection.js"
import { ValidationStore } from "./ValidationStore.js"

/** The connection is revoked (`connection_revoked`) or disabled (`connection_required`). */
export type Inactive = ReinsError<"connection_revoked" | "connection_required">

/** The connection is not in the workspace, is not active, or no key of the installation opens its credential. */
export type Unopenable = ReinsError<"not_found" | "credential_invalid"> | Inactive

/** The version is not the current one, its secrets are destroyed, or the key that seals them is missing. */
export type UnreadableCredential = ReinsError<"not_found" | "connection_revoked" | "credential_invalid">

/** A new session takes these of its connection. No secret is among them. */
export type ChosenConnection = Pick<OpenConnection, "id" | "preferredModel">

/** An active connection without its secrets. */
export type ActiveConnection = Pick<ConnectionRow, "id" | "kind" | "settings" | "health"> & {
  readonly credential_id: CredentialId
}

/** The connections and their credentials as they are stored. The store checks no access. */
export class ConnectionStore extends Context.Tag("@reins/core/connections/ConnectionStore")<
  ConnectionStore,
  {
    /** The connection of that id in any workspace and state; undefined when there is none. */
    readonly find: (id: string) => Effect.Effect<ConnectionRow | undefined>
    /** The connections of a workspace, newest first. Fails with `invalid_cursor`. */
    readonly list: (
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Connection>, ReinsError<"invalid_cursor">>
    /** The active connections of a workspace with a credential, newest first. */
    readonly active: (workspaceId: WorkspaceId) => Effect.Effect<ReadonlyArray<ActiveConnection>>
    /** The newest active connection of a kind, with one of the protocols when some are given; undefined when there is none. */
    readonly findByKind: (
      workspaceId: WorkspaceId,
      kind: string,
      protocols?: ReadonlyArray<string>
    ) => Effect.Effect<ChosenConnection | undefined>
    /** The active connection of that id in the workspace, with its secrets. */
    readonly open: (workspaceId: WorkspaceId, connectionId: string) => Effect.Effect<OpenConnection, Unopenable>
    /** The connection with the secrets of that credential version, also when it is disabled. Fails with `not_found` unless the version is current. */
    readonly openVersion: (
      connectionId: ConnectionId,
      credentialId: CredentialId
    ) => Effect.Effect<OpenConnection, UnreadableCredential>
    /**
     * Locks the connection until the commit ends, so that nobody else changes it, and gives its workspace. Undefined when there is no such
     * connection.
     */
    readonly hold: (connectionId: string) => Effect.Effect<WorkspaceId | undefined, never, Commit>
    /** Adds an active connection with the first version of its credential. */
    readonly insert: (
      connection: Pick<Connection, "workspace_id" | "kind" | "label" | "prices">,
      parts: CredentialParts,
      postedBy: AccountId
    ) => Effect.Effect<ConnectionId, never, Commit>
    /** Changes the label, the state, the preferred model and the prices of a held connection. Fails with `invalid_transition`. */
    readonly change: (
      row: ConnectionRow,
      change: Pick<Connection, "label" | "state" | "preferred_model" | "prices">
    ) => Effect.Effect<void, ReinsError<"invalid_transition">, Commit>
    /** Gives a held connection a new credential version. It destroys the secrets of the version before and ends its validations. */
    readonly replaceCredential: (
      row: ConnectionRow,
      parts: CredentialParts,
      postedBy: AccountId
    ) => Effect.Effect<void, never, Commit>
    /** Revokes a held connection, destroys its secrets and ends its validations. */
    readonly revoke: (row: ConnectionRow) => Effect.Effect<void, never, Commit>
    /** Notes the health that was seen when a credential version was used. It changes nothing when that version is no longer the current one. */
    readonly observe: (
      connectionId: ConnectionId,
      credentialId: CredentialId,
      health: ConnectionHealth
    ) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    ConnectionStore,
    Effect.gen(function* () {
      const db = yield* Database
      const vault = yield* Vault
      const { supersede } = yield* ValidationStore
      return ConnectionStore.of({ ...makeReads(db, vault), ...makeWrites(db, vault, supersede) })
    })
  )
}

type Reads = "active" | "find" | "list" | "findByKind" | "open" | "openVersion"

const makeReads = (db: Database["Type"], vault: Vault["Type"]): Pick<ConnectionStore["Type"], Reads> => {
  const { sql } = db
  const columns = sql.literal(`connections.*, credentials.ordinal, credentials.fingerprint, credentials.last4,
      credentials.sealed, credentials.created_at as credential_created_at`)
  const from = sql.literal("connections left join credentials on credentials.id = connections.credential_id")
  const byId = db.prepare(
    (id: string) => sql<ConnectionRow>`select ${columns} from ${from} where connections.id = ${id}`
  )
  const chosen = sql.literal('id, preferred_model as "preferredModel"')
  const newestOf = db.prepare(
    (workspaceId: string, kind: string) => sql<ChosenConnection>`select ${chosen} from connections
      where workspace_id = ${workspaceId} and state = 'active' and kind = ${kind} order by id desc limit 1`
  )
  const allOf = db.prepare(
    (workspaceId: string, kind: string) => sql<ChosenConnection & { settings: string }>`select ${chosen}, settings
      from connections where workspace_id = ${workspaceId} and state = 'active' and kind = ${kind} order by id desc`
  )
  const active = db.prepare(
    (workspaceId: string) => sql<ActiveConnection>`select id, kind, settings, health, credential_id from connections
      where workspace_id = ${workspaceId} and state = 'active' and credential_id is not null order by id desc`
  )
  const find = (id: string) => db.first(byId(id))

  return {
    active: (workspaceId) => db.all(active(workspaceId)),
    find,
    list: Effect.fnUntraced(function* (workspaceId, page) {
      const { before, limit } = yield* Keyset.descending(page)
      const rows = yield* db.all(sql<ConnectionRow>`select ${columns} from ${from}
        where connections.workspace_id = ${workspaceId} and connections.id < ${before}
        order by connections.id desc limit ${limit + 1}`)
      return Keyset.page(rows.map(toConnection), limit, (connection) => connection.id)
    }),
    findByKind: (workspaceId, kind, protocols) =>
      protocols === undefined
        ? db.first(newestOf(workspaceId, kind))
        : Effect.map(db.all(allOf(workspaceId, kind)), (rows) =>
            rows.find(({ settings }) => protocols.includes(JSON.parse(settings).protocol))
          ),
    open: fn("ConnectionStore.open")(function* (workspaceId, connectionId) {
      const row = yield* find(connectionId)
      if (row === undefined || row.workspace_id !== workspaceId) return yield* notFound()
      yield* requireActive(row)
      return yield* unseal(vault, row)
    }),
    openVersion: fn("ConnectionStore.openVersion")(function* (connectionId, credentialId) {
      const row = yield* find(connectionId)
      return row?.credential_id === credentialId ? yield* unseal(vault, row) : yield* notFound()
    })
  }
}

/** The current credential version of an active connection. */
export const requireActive = (
  row: Pick<ConnectionRow, "id" | "state" | "credential_id">
): Effect.Effect<CredentialId, Inactive> => {
  if (row.state === "revoked") return Effect.fail(revoked(row.id))
  return row.state === "disabled" || row.credential_id === null
    ? Effect.fail(disabled(row.id))
    : Effect.succeed(row.credential_id)
}

const sealedFor = (
  { id, kind, settings, workspace_id }: Pick<ConnectionRow, "id" | "kind" | "settings" | "workspace_id">,
  credentialId: CredentialId
): SealedFor => ({ workspaceId: workspace_id, connectionId: id, credentialId, kind, settings })

const unseal = Effect.fnUntraced(function* (vault: Vault["Type"], row: ConnectionRow) {
  if (row.sealed === null || row.credential_id === null) return yield* revoked(row.id)
  const opened: OpenConnection = {
    id: row.id,
    credentialId: row.credential_id,
    kind: row.kind,
    settings: JSON.parse(row.settings),
    secrets: yield* openSecrets(vault, sealedFor(row, row.credential_id), row.sealed),
    preferredModel: row.preferred_model,
    prices: row.prices === null ? {} : JSON.parse(row.prices)
  }
  return opened
})

const makeWrites = (
  db: Database["Type"],
  vault: Vault["Type"],
  supersede: ValidationStore["Type"]["supersede"]
): Omit<ConnectionStore["Type"], Reads> => {
  const { sql } = db

  const addCredential = credentialAdder(db, vault)

  return {
    hold: (connectionId) =>
      Effect.map(
        db.first(
          sql<{
            workspace_id: WorkspaceId
          }>`select workspace_id from connections where id = ${connectionId}${db.forUpdate}`
        ),
        (row) => row?.workspace_id
      ),
    insert: Effect.fnUntraced(function* (connection, parts, postedBy) {
      const id = yield* newId(ConnectionId)
      const at = yield* now
      yield* db.run(
        sql`insert into connections ${sql.insert({
          id,
          workspace_id: connection.workspace_id,
          kind: connection.kind,
          label: connection.label,
          prices: connection.prices === null ? null : JSON.stringify(connection.prices),
          settings: "{}",
          state: "active",
          health: "unverified",
          version: 1,
          created_at: at,
          updated_at: at
        })}`
      )
      yield* addCredential({ ...connection, id }, 1, parts, postedBy)
      return id
    }),
    change: Effect.fnUntraced(function* (row, { label, preferred_model, prices, state }) {
      if (state !== row.state) yield* connectionStates.check(row.state, state)
      yield* db.run(sql`update connections set label = ${label}, state = ${state}, preferred_model = ${preferred_model},
        prices = ${prices === null ? null : JSON.stringify(prices)},
        version = version + 1, updated_at = ${yield* now} where id = ${row.id}`)
    }),
    replaceCredential: Effect.fnUntraced(function* (row, parts, postedBy) {
      yield* supersede(row.id)
      yield* db.run(sql`update credentials set state = 'superseded', sealed = null
        where connection_id = ${row.id} and state = 'current'`)
      yield* addCredential(row, (row.ordinal ?? 0) + 1, parts, postedBy)
      yield* db.run(sql`update connections set version = version + 1 where id = ${row.id}`)
    }),
    revoke: Effect.fnUntraced(function* (row) {
      yield* Effect.orDie(connectionStates.check(row.state, "revoked"))
      yield* supersede(row.id)
      yield* db.run(sql`update credentials set state = 'revoked', sealed = null where connection_id = ${row.id}`)
      yield* db.run(sql`update connections set state = 'revoked', version = version + 1, updated_at = ${yield* now}
        where id = ${row.id}`)
    }),
    observe: (connectionId, credentialId, health) =>
      db.run(sql`update connections set health = ${health} where id = ${connectionId}
        and credential_id = ${credentialId} and state <> 'revoked'`)
  }
}

const credentialAdder = ({ run, sql }: Database["Type"], vault: Vault["Type"]) =>
  Effect.fnUntraced(function* (
    connection: Pick<ConnectionRow, "id" | "kind" | "workspace_id">,
    ordinal: number,
    parts: CredentialParts,
    postedBy: AccountId
  ) {
    const id = yield* newId(CredentialId)
    const at = yield* now
    const settings = JSON.stringify(parts.settings)
    const sealed = yield* sealSecrets(vault, sealedFor({ ...connection, settings }, id), parts.secrets)
    yield* run(
      sql`insert into credentials ${sql.insert({
        id,
        connection_id: connection.id,
        ordinal,
        state: "current",
        sealed,
        last4: parts.last4,
        posted_by: postedBy,
        created_at: at,
        fingerprint: credentialFingerprint(vault, parts.fingerprintOf)
      })}`
    )
    yield* run(sql`update connections set credential_id = ${id}, settings = ${settings},
      health = 'unverified', updated_at = ${at} where id = ${connection.id}`)
  })
