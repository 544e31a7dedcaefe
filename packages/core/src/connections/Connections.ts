import { fn } from "@reins/base/base/Traced"
import { type ConnectionId, type CredentialId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer } from "effect"
import { Access, type Denied, type Unseen } from "../access/Access.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import { expectVersion } from "../store/Version.js"
import type { Connection } from "./Connection.js"
import { ConnectionKinds } from "./ConnectionKinds.js"
import { type ConnectionRow, revoked, toConnection } from "./ConnectionRow.js"
import { ConnectionStore, type Inactive, requireActive } from "./ConnectionStore.js"
import type { ConnectionInput, ConnectionPatch, CredentialVersionInput } from "./ConnectionsApi.js"
import { ConnectionUses } from "./ConnectionUses.js"
import { partsOf } from "./CredentialParts.js"
import { grantEnding } from "./GrantEnding.js"

/** Commands on the credentials for providers and forges. Secrets are sealed when they come in, and no method gives them back. */
export class Connections extends Context.Tag("@reins/core/connections/Connections")<
  Connections,
  {
    /** The connections of a workspace, newest first. Fails with `not_found` and `invalid_cursor`. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Connection>, Unseen | ReinsError<"invalid_cursor">>
    /** Adds a connection and seals its credential. Fails with `RequestInvalid` for fields that the kind does not take. */
    readonly create: (
      principal: Principal,
      workspaceId: string,
      input: ConnectionInput
    ) => Command<Connection, Denied | RequestInvalid>
    /** Fails with `not_found` for a connection that the principal may not see. */
    readonly get: (principal: Principal, connectionId: string) => Effect.Effect<Connection, Unseen>
    /** Changes the label, the state, the preferred model or the prices. Fails with `connection_revoked`, `invalid_transition` and `version_conflict`. */
    readonly update: (
      principal: Principal,
      connectionId: string,
      patch: ConnectionPatch
    ) => Command<Connection, Denied | ReinsError<"connection_revoked" | "invalid_transition" | "version_conflict">>
    /** Seals a new credential version and destroys the one before. Fails with `connection_revoked` and `version_conflict`. */
    readonly replaceCredential: (
      principal: Principal,
      connectionId: string,
      input: CredentialVersionInput
    ) => Command<Connection, Denied | ReinsError<"connection_revoked" | "version_conflict"> | RequestInvalid>
    /** Revokes the connection and destroys its secrets. Asks the authorization server that gave them to end its tokens. Fails with `connection_in_use` while a turn runs with it. */
    readonly disconnect: (
      principal: Principal,
      connectionId: string
    ) => Command<Connection, Denied | ReinsError<"connection_revoked" | "connection_in_use">>
    /**
     * Locks an active connection that the principal may use until the commit ends, and gives its current credential version. Fails with
     * `connection_revoked` and `connection_required`.
     */
    readonly usable: (
      principal: Principal,
      connectionId: string
    ) => Effect.Effect<
      { readonly id: ConnectionId; readonly workspaceId: WorkspaceId; readonly credentialId: CredentialId },
      Denied | Inactive,
      Commit
    >
  }
>() {
  static readonly layer = Layer.effect(
    Connections,
    Effect.gen(function* () {
      const journal = yield* Journal
      const access = yield* Access
      const store = yield* ConnectionStore
      const kinds = yield* ConnectionKinds
      const uses = yield* ConnectionUses
      const endGrant = yield* grantEnding

      const row = requireExisting(store)
      const answer = (id: string) => Effect.map(row(id), toConnection)
      const held = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const workspaceId = yield* store.hold(id)
        if (workspaceId === undefined) return yield* notFound()
        yield* access.write(principal, workspaceId)
        return yield* row(id)
      })
      /**
       * The held connection, if it is not revoked and has the version that the caller expects. Without an expected version any version will do.
       */
      const heldAt = Effect.fnUntraced(function* (principal: Principal, id: string, version: number | undefined) {
        const found = yield* held(principal, id)
        yield* expectVersion(found.version, version)
        return yield* unrevoked(found)
      })

      return Connections.of({
        list: fn("Connections.list")(function* (principal, workspaceId, page) {
          yield* access.read(principal, workspaceId)
          return yield* store.list(workspaceId, page)
        }),
        create: (principal, workspaceId, { credential, kind, label, prices }) =>
          journal.prepared(
            "Connections.create",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              const parts = yield* partsOf(yield* kinds.require(kind), credential)
              return Effect.gen(function* () {
                yield* access.write(principal, workspaceId)
                const workspace_id = WorkspaceId.make(workspaceId)
                return yield* answer(
                  yield* store.insert({ workspace_id, kind, label, prices: prices ?? null }, parts, principal.accountId)
                )
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
            { by: principal, about: { type: "connection", id: connectionId } },
            Effect.gen(function* () {
              const found = yield* heldAt(principal, connectionId, patch.expected_version)
              yield* store.change(found, changeOf(found, patch))
              return yield* answer(found.id)
            })
          ),
        replaceCredential: (principal, connectionId, input) =>
          journal.command(
            "Connections.replaceCredential",
            { by: principal, about: { type: "connection", id: connectionId } },
            Effect.gen(function* () {
              const found = yield* heldAt(principal, connectionId, input.expected_version)
              const parts = yield* partsOf(yield* kinds.require(found.kind), input.credential)
              yield* store.replaceCredential(found, parts, principal.accountId)
              return yield* answer(found.id)
            })
          ),
        disconnect: (principal, connectionId) =>
          journal.prepared(
            "Connections.disconnect",
            { by: principal, about: { type: "connection", id: connectionId } },
            Effect.gen(function* () {
              // The secrets are gone after the commit, so the place that gave them is told before.
              yield* endGrant(principal, connectionId)
              return Effect.gen(function* () {
                const found = yield* unrevoked(yield* held(principal, connectionId))
                const turnId = yield* uses.find(found.id)
                if (turnId !== undefined) return yield* inUse(turnId)
                yield* store.revoke(found)
                return yield* answer(found.id)
              })
            })
          ),
        usable: fn("Connections.usable")(function* (principal, connectionId) {
          const found = yield* held(principal, connectionId)
          return { id: found.id, workspaceId: found.workspace_id, credentialId: yield* requireActive(found) }
        })
      })
    })
  )
}

const requireExisting = (store: ConnectionStore["Type"]) => (id: string) =>
  Effect.flatMap(store.find(id), (found) => (found ? Effect.succeed(found) : Effect.fail(notFound())))

const unrevoked = (row: ConnectionRow): Effect.Effect<ConnectionRow, ReinsError<"connection_revoked">> =>
  row.state === "revoked" ? Effect.fail(revoked(row.id)) : Effect.succeed(row)

const changeOf = (row: ConnectionRow, { label, preferred_model, prices, state }: ConnectionPatch) => ({
  label: label ?? row.label,
  state: state ?? row.state,
  preferred_model: preferred_model === undefined ? row.preferred_model : preferred_model,
  prices: prices === undefined ? toConnection(row).prices : prices
})

const inUse = (turnId: string): ReinsError<"connection_in_use"> =>
  new ReinsError({
    code: "connection_in_use",
    message: "A turn is running with this connection. Cancel it or wait until it has ended.",
    details: { turn_id: turnId }
  })
