import { canonicalJson } from "@reins/base/base/CanonicalJson"
import type { AccountId, ConnectionId, ConnectionLoginId, WorkspaceId } from "@reins/base/domain/Ids"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import type { SealedRecord } from "@reins/base/secrets/SealedRecords"
import { Vault } from "@reins/base/secrets/Vault"
import { Context, Effect, Layer, Redacted } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { ClientIdentity, ConnectionLogin, LoginReach } from "./ConnectionLogin.js"

/** The addresses and the names that a login was begun with. They are the ones that it ends with, whatever the server says by then. */
export interface LoginPlan {
  /** The authorization server by its own name. */
  readonly issuer: string
  readonly token_endpoint: string
  /** The ways in which a client may say who it is; null where nobody tells. */
  readonly methods: ReadonlyArray<string> | null
  /** The name of the server that the tokens are for. */
  readonly resource: string
  readonly client: ClientIdentity
  readonly client_id: string
  /** The scopes that are asked for; null for those of its choice. */
  readonly scopes: string | null
  readonly redirect_uri: string
  readonly for: LoginReach
  /** True where the authorization server promises to name itself in its answer. */
  readonly names_itself: boolean
}

/** The secrets of a login. */
export interface LoginSecrets {
  readonly verifier: string
  readonly client_secret?: string
}

export interface ConnectionLoginRow {
  readonly id: ConnectionLoginId
  readonly workspace_id: WorkspaceId
  readonly account_id: AccountId
  readonly connection_id: ConnectionId | null
  readonly state: Exclude<ConnectionLogin["state"], "expired">
  readonly reason_message: string | null
  readonly server_url: string
  readonly label: string
  /** `LoginPlan` as JSON. */
  readonly plan: string
  readonly state_hash: string
  readonly sealed: string | null
  readonly created_at: Timestamp
  readonly expires_at: Timestamp
}

type Owner = Pick<ConnectionLoginRow, "id" | "workspace_id" | "account_id" | "server_url" | "plan">

/** The secrets open for this login of this person to this server alone. */
const contextOf = ({ account_id, id, plan, server_url, workspace_id }: Owner): string =>
  canonicalJson(["connection login", workspace_id, account_id, id, server_url, JSON.parse(plan)])

/** A login is read for a day after its end. */
const keptMs = 24 * 60 * 60_000

/** The rows of logins. The store checks no access. */
export class ConnectionLoginStore extends Context.Tag("@reins/core/logins/ConnectionLoginStore")<
  ConnectionLoginStore,
  {
    readonly find: (id: string) => Effect.Effect<ConnectionLoginRow | undefined>
    /** The number of logins of an account that wait for a browser. */
    readonly countPending: (accountId: AccountId) => Effect.Effect<number>
    readonly seal: (owner: Owner, secrets: LoginSecrets) => Effect.Effect<string>
    /** The secrets of a login; undefined where no key of the installation opens them. */
    readonly open: (row: ConnectionLoginRow) => Effect.Effect<LoginSecrets | undefined>
    readonly insert: (row: ConnectionLoginRow) => Effect.Effect<void, never, Commit>
    /** Takes a login that waits, so that its code is sent once. False where another caller has taken it, or it has ended. */
    readonly claim: (id: ConnectionLoginId) => Effect.Effect<boolean, never, Commit>
    /** Ends a login. Its secrets go. */
    readonly end: (
      id: ConnectionLoginId,
      ending: Pick<ConnectionLoginRow, "state" | "reason_message"> & { readonly connection_id?: ConnectionId }
    ) => Effect.Effect<void, never, Commit>
    /** Deletes logins that ended a day ago, in a commit of its own. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    ConnectionLoginStore,
    Effect.gen(function* () {
      const db = yield* Database
      const vault = yield* Vault
      const { sql } = db
      return ConnectionLoginStore.of({
        find: (id) => db.first(sql<ConnectionLoginRow>`select * from connection_logins where id = ${id}`),
        countPending: Effect.fnUntraced(function* (accountId) {
          const row = yield* db.first(sql<{ count: number }>`select count(*) as count from connection_logins
            where account_id = ${accountId} and state = 'pending' and expires_at > ${yield* now}`)
          return Number(row?.count ?? 0)
        }),
        seal: (owner, secrets) => vault.seal(Redacted.make(JSON.stringify(secrets)), contextOf(owner)),
        open: (row) =>
          row.sealed === null
            ? Effect.succeed(undefined)
            : Effect.match(vault.unseal(row.sealed, contextOf(row)), {
                onFailure: () => undefined,
                onSuccess: (text): LoginSecrets => JSON.parse(Redacted.value(text))
              }),
        insert: (row) => db.run(sql`insert into connection_logins ${sql.insert({ ...row })}`),
        claim: Effect.fnUntraced(function* (id) {
          const taken = yield* db.first(sql`update connection_logins set state = 'exchanging'
            where id = ${id} and state = 'pending' and expires_at > ${yield* now} returning id`)
          return taken !== undefined
        }),
        end: (id, { connection_id, reason_message, state }) =>
          db.run(
            sql`update connection_logins set ${sql.update({
              state,
              reason_message,
              sealed: null,
              ...(connection_id !== undefined && { connection_id })
            })} where id = ${id}`
          ),
        purge: Effect.flatMap(fromNow(-keptMs), (before) =>
          db.run(sql`delete from connection_logins where expires_at <= ${before}`)
        )
      })
    })
  )
}

/** The sealed secrets of logins. */
export const loginRecords = (db: Database["Type"]): Effect.Effect<ReadonlyArray<SealedRecord>> =>
  Effect.map(
    db.all(
      db.sql<
        ConnectionLoginRow & { sealed: string }
      >`select * from connection_logins where sealed is not null order by id`
    ),
    (rows) =>
      rows.map((row) => ({
        sealed: row.sealed,
        context: contextOf(row),
        replace: (again: string) =>
          db.run(db.sql`update connection_logins set sealed = ${again} where id = ${row.id} and sealed = ${row.sealed}`)
      }))
  )
