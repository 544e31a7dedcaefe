import { randomUUID } from "node:crypto"
import { Vault } from "@reins/base/secrets/Vault"
import { Effect, Redacted } from "effect"
import { boundIssuer } from "../grants/Grant.js"
import { Bell, credentialTopic } from "../store/Bell.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import { lookUntil } from "../store/LookUntil.js"
import type { ConnectionHealth } from "./Connection.js"
import { ConnectionStore } from "./ConnectionStore.js"
import { marksOf } from "./CredentialParts.js"
import { credentialFingerprint, openSecrets, type SealedFor, sealSecrets } from "./CredentialSeal.js"
import type { OpenConnection } from "./OpenConnection.js"

/** The time for which one process alone uses a refresh token, in milliseconds. Two requests and their commit take less. */
const leaseMs = 30_000

/** The result of a use of a credential. */
export interface UsedCredential {
  /** The connection with the secrets that were sent. */
  readonly connection: OpenConnection
  /** The lease; undefined where none was needed. */
  readonly holder: string | undefined
  /** Secrets that take the place of those. */
  readonly replaced: OpenConnection["secrets"]
  /** The health that was seen; undefined where the use told nothing. */
  readonly health: ConnectionHealth | undefined
}

type Plain = Readonly<Record<string, string>>

const plainOf = (secrets: OpenConnection["secrets"]): Plain =>
  Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, Redacted.value(value)]))

/** The rows by which processes use a credential one after another, and by which none of them loses what has replaced it. */
export const credentialLease = Effect.gen(function* () {
  const bell = yield* Bell
  const db = yield* Database
  const journal = yield* Journal
  const store = yield* ConnectionStore
  const vault = yield* Vault
  const { sql } = db

  const take = Effect.fnUntraced(function* (credentialId: string) {
    const holder = randomUUID()
    const taken = yield* db.first(sql`update credentials
      set refresh_holder = ${holder}, refresh_until = ${yield* db.clock.at(leaseMs)}
      where id = ${credentialId} and sealed is not null
        and (refresh_until is null or refresh_until <= ${yield* db.clock.at(0)}) returning id`)
    if (taken !== undefined) return { holder }
    const row = yield* db.first(sql`select id from credentials where id = ${credentialId} and sealed is not null`)
    return row === undefined ? { holder: undefined } : undefined
  })

  /** Seals the secrets anew, if they are still those that were sent. */
  const replace = Effect.fnUntraced(function* (
    connection: OpenConnection,
    replaced: Plain
  ): Effect.fn.Return<void, never, Commit> {
    const { credentialId: id, kind } = connection
    const row = yield* db.first(sql<Row>`select sealed, workspace_id, settings from credentials
      join connections on connections.id = credentials.connection_id
      where credentials.id = ${id} and sealed is not null`)
    if (row === undefined) return
    const sealedFor: SealedFor = {
      workspaceId: row.workspace_id,
      connectionId: connection.id,
      credentialId: id,
      kind,
      settings: row.settings
    }
    const stored = yield* Effect.option(openSecrets(vault, sealedFor, row.sealed))
    if (stored._tag === "None") return
    const before = plainOf(stored.value)
    if (before["refresh_token"] !== plainOf(connection.secrets)["refresh_token"]) return
    const secrets = { ...before, ...replaced }
    const { [boundIssuer]: _, ...shown } = secrets
    const { fingerprintOf, last4 } = marksOf(shown)
    yield* db.run(
      sql`update credentials set ${sql.update({
        sealed: yield* sealSecrets(vault, sealedFor, secrets),
        fingerprint: credentialFingerprint(vault, fingerprintOf),
        last4
      })} where id = ${id}`
    )
  })

  const free = Effect.fnUntraced(function* (
    credentialId: string,
    holder: string
  ): Effect.fn.Return<void, never, Commit> {
    yield* db.run(sql`update credentials set refresh_holder = null, refresh_until = null
      where id = ${credentialId} and refresh_holder = ${holder}`)
    yield* journal.ringAfterCommit(credentialTopic(credentialId))
  })

  return {
    /** Waits until nobody else uses the refresh token. Gives the lease; undefined for a credential that was replaced or revoked. */
    take: (credentialId: string) =>
      Effect.map(
        lookUntil(bell, {
          topics: [credentialTopic(credentialId)],
          look: journal.commit(take(credentialId)),
          waitMs: () => 1000
        }),
        ({ holder }) => holder
      ),

    /** Ends a lease that was not used. */
    free: (credentialId: string, holder: string): Effect.Effect<void> => journal.commit(free(credentialId, holder)),

    /** Keeps the secrets that have replaced others, and ends the lease, in one commit. */
    settle: ({ connection, health, holder, replaced }: UsedCredential): Effect.Effect<void> =>
      journal.commit(
        Effect.gen(function* () {
          const { credentialId, id } = connection
          // Everything that replaces a credential holds its connection, and the rotation of keys holds its row.
          yield* store.hold(id)
          yield* db.run(sql`select id from credentials where id = ${credentialId}${db.forUpdate}`)
          if (Object.keys(replaced).length > 0) yield* replace(connection, plainOf(replaced))
          if (health !== undefined) yield* store.observe(id, credentialId, health)
          if (holder !== undefined) yield* free(credentialId, holder)
        })
      )
  }
})

interface Row {
  readonly sealed: string
  readonly workspace_id: string
  readonly settings: string
}
