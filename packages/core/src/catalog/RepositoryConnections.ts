import { fn } from "@reins/base/base/Traced"
import type { ConnectionId, CredentialId, WorkspaceId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { repositoryPlace } from "@reins/base/domain/RepositoryUrl"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Forges } from "@reins/machine/forge/Forges"
import { Context, Effect, Layer } from "effect"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"
import { ConnectionStore, type Unopenable } from "../connections/ConnectionStore.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import {
  type FittingConnection,
  type RankedConnection,
  type RepositoryUse,
  rankConnections,
  repositoryKey
} from "./RepositoryChoice.js"

/** The parts of a connection that tell where its credential goes. No secret is among them. */
export interface PlacedConnection {
  readonly kind: string
  readonly settings: Readonly<Record<string, string>>
}

/** The connections of a workspace for the repositories of its sessions. The store checks no access. */
export class RepositoryConnections extends Context.Tag("@reins/core/catalog/RepositoryConnections")<
  RepositoryConnections,
  {
    /** True when git may use the connection, and its credential belongs to the protocol, the host and the port of the repository. */
    readonly fits: (connection: PlacedConnection, repositoryUrl: string) => boolean
    /** The active connections of the workspace that fit a repository, the best first. None for a path of this machine. */
    readonly ranked: (workspaceId: WorkspaceId, repositoryUrl: string) => Effect.Effect<ReadonlyArray<RankedConnection>>
    /** The first of the connections that is active and fits the repository; null for none. Those of other workspaces do not count. */
    readonly firstOf: (
      workspaceId: WorkspaceId,
      connectionIds: ReadonlyArray<string>,
      repositoryUrl: string
    ) => Effect.Effect<ConnectionId | null>
    /** Fails unless the connection is an active one of the workspace that fits the repository. */
    readonly requireFitting: (
      workspaceId: WorkspaceId,
      connectionId: string,
      repositoryUrl: string
    ) => Effect.Effect<ConnectionId, Unopenable>
    /** Notes whether the remote has taken a credential for a repository. The next choice goes by it. */
    readonly note: (
      workspaceId: WorkspaceId,
      repositoryUrl: string,
      use: Pick<RepositoryUse, "connectionId" | "credentialId" | "opens">
    ) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    RepositoryConnections,
    Effect.gen(function* () {
      const store = yield* ConnectionStore
      const kinds = yield* ConnectionKinds
      const forges = yield* Forges
      const { note, uses } = yield* rows

      const fits = (connection: PlacedConnection, url: string): boolean =>
        kinds.forGit.includes(connection.kind) && speaksTo(connection, url) && forges.mayReceive(connection, url)

      return RepositoryConnections.of({
        fits,
        note,
        ranked: fn("RepositoryConnections.ranked")(function* (workspaceId, url) {
          const repository = repositoryKey(url)
          if (repository === undefined) return []
          const fitting = (yield* store.active(workspaceId)).flatMap(
            ({ credential_id, health, id, kind, settings }): ReadonlyArray<FittingConnection> =>
              fits({ kind, settings: JSON.parse(settings) }, url)
                ? [{ id, credentialId: credential_id, health, isApp: kinds.find(kind)?.tokens !== undefined }]
                : []
          )
          if (fitting.length === 0) return []
          return rankConnections(repository, fitting, yield* uses(workspaceId, repository))
        }),
        firstOf: fn("RepositoryConnections.firstOf")(function* (workspaceId, connectionIds, url) {
          for (const id of connectionIds) {
            const row = yield* store.find(id)
            if (row?.workspace_id !== workspaceId || row.state !== "active") continue
            if (fits({ kind: row.kind, settings: JSON.parse(row.settings) }, url)) return row.id
          }
          return null
        }),
        requireFitting: fn("RepositoryConnections.requireFitting")(function* (workspaceId, connectionId, url) {
          const connection = yield* store.open(workspaceId, connectionId)
          return fits(connection, url) ? connection.id : yield* notAtHome(connection.id)
        })
      })
    })
  )
}

/** The statements about uses of connections. */
const rows = Effect.gen(function* () {
  const db = yield* Database
  const { sql } = db
  const ofRepository = db.prepare(
    (workspaceId: string, repository: string) => sql<{
      connection_id: ConnectionId
      credential_id: CredentialId
      repository: string
      opens: number
      used_at: Timestamp
    }>`select connection_id, credential_id, repository, opens, used_at from repository_uses
      where workspace_id = ${workspaceId} and repository = ${repository}`
  )
  return {
    uses: (workspaceId: string, repository: string) =>
      Effect.map(db.all(ofRepository(workspaceId, repository)), (found) =>
        found.map(
          ({ connection_id, credential_id, opens, repository, used_at }): RepositoryUse => ({
            connectionId: connection_id,
            credentialId: credential_id,
            repository,
            opens: opens === 1,
            usedAt: used_at
          })
        )
      ),
    note: Effect.fnUntraced(function* (
      workspaceId: WorkspaceId,
      url: string,
      { connectionId, credentialId, opens }: Pick<RepositoryUse, "connectionId" | "credentialId" | "opens">
    ): Effect.fn.Return<void, never, Commit> {
      const repository = repositoryKey(url)
      if (repository === undefined) return
      const seen = { credential_id: credentialId, opens: opens ? 1 : 0, used_at: yield* now }
      const key = { workspace_id: workspaceId, repository, connection_id: connectionId }
      yield* db.run(sql`insert into repository_uses ${sql.insert({ ...key, ...seen })}
        on conflict (workspace_id, repository, connection_id) do update set ${sql.update(seen)}`)
    })
  }
})

/** True when the credential is of the sort that the protocol of a repository takes: keys for SSH, and all others for the web. */
export const speaksTo = ({ settings }: Pick<PlacedConnection, "settings">, repositoryUrl: string): boolean => {
  const kind = repositoryPlace(repositoryUrl)?.kind
  return kind === (settings["known_hosts"] !== undefined ? "ssh" : "web")
}

const notAtHome = (id: ConnectionId) =>
  Effect.fail(
    new ReinsError({
      code: "connection_required",
      message:
        "The repository is not at the home of the connection, so its credential is not sent there. Name a connection of the host of the " +
        "repository, or none.",
      details: { connection_id: id }
    })
  )
