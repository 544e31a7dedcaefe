import { fromNow, now } from "@reins/base/domain/Timestamp"
import { Vault } from "@reins/base/secrets/Vault"
import { Effect } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"

/** The clients from which the owners of accounts have come, in the last 90 days. */
export interface KnownClients {
  /** True for a client that has proved the password of this address. */
  readonly isKnown: (email: string, client: string) => Effect.Effect<boolean>
  /** Notes that a client has proved the password of an account, or the command of its mails. */
  readonly note: (accountId: string, email: string, client: string) => Effect.Effect<void, never, Commit>
  /** Forgets the clients of an account, because what they have proved is worth nothing any more. */
  readonly forget: (accountId: string) => Effect.Effect<void, never, Commit>
  /** Deletes the clients that are no longer known. The statement is a commit of its own. */
  readonly purge: Effect.Effect<void>
}

const lifetimeMs = 90 * 24 * 60 * 60 * 1000

/** Addresses and clients are stored as keyed digests, so that the database does not tell where people are. */
export const make: Effect.Effect<KnownClients, never, Database | Vault> = Effect.gen(function* () {
  const db = yield* Database
  const { sql } = db
  const vault = yield* Vault
  const subjectOf = (email: string, client: string) => vault.mac("known client", JSON.stringify([email, client]))
  return {
    isKnown: Effect.fnUntraced(function* (email, client) {
      const row = yield* db.first(sql`select subject from known_clients
        where subject = ${subjectOf(email, client)} and seen_at > ${yield* fromNow(-lifetimeMs)}`)
      return row !== undefined
    }),
    note: Effect.fnUntraced(function* (accountId, email, client) {
      const row = { subject: subjectOf(email, client), account_id: accountId, seen_at: yield* now }
      yield* db.run(sql`insert into known_clients ${sql.insert(row)}
        on conflict (subject) do update set seen_at = excluded.seen_at`)
    }),
    forget: (accountId) => db.run(sql`delete from known_clients where account_id = ${accountId}`),
    purge: Effect.flatMap(fromNow(-lifetimeMs), (oldest) =>
      db.run(sql`delete from known_clients where seen_at <= ${oldest}`)
    )
  }
})
