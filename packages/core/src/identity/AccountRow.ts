import type { Effect } from "effect"
import type { Account, AccountState } from "../domain/Account.js"
import type { AccountId } from "../domain/Ids.js"
import type { Timestamp } from "../domain/Timestamp.js"
import type { Database } from "../store/Database.js"

/** An account as it is stored. */
export interface AccountRow {
  readonly id: AccountId
  readonly email: string
  readonly display_name: string | null
  readonly password_hash: string
  readonly state: AccountState
  readonly created_at: Timestamp
}

type Found = Effect.Effect<AccountRow | undefined>

export const findById = (db: Database["Type"], accountId: string): Found =>
  db.first(db.sql<AccountRow>`select * from accounts where id = ${accountId}`)

/** The address is compared as it is stored: see `normaliseEmail`. */
export const findByEmail = (db: Database["Type"], email: string): Found =>
  db.first(db.sql<AccountRow>`select * from accounts where email = ${email}`)

/** `findByEmail`, and nobody else changes the account until the open commit is through. */
export const lockByEmail = (db: Database["Type"], email: string): Found =>
  db.first(db.sql<AccountRow>`select * from accounts where email = ${email}${db.forUpdate}`)

/** An address as it is stored and compared: trimmed, NFC, lower case. */
export const normaliseEmail = (email: string): string => email.trim().normalize("NFC").toLowerCase()

export const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  email: row.email,
  display_name: row.display_name,
  state: row.state,
  created_at: row.created_at
})
