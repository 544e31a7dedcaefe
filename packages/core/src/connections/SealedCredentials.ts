import { Effect, Option } from "effect"
import { sealedWith, type Vault } from "../secrets/Vault.js"
import type { Database } from "../store/Database.js"
import { credentialContext } from "./CredentialSeal.js"

type Db = Database["Type"]

/** The ids of the keys that stored credentials are sealed with, sorted. */
export const keyIds = (db: Db): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(sealedCredentials(db), (rows) =>
    [...new Set(rows.flatMap(({ sealed }) => sealedWith(sealed) ?? []))].sort()
  )

/** The number of stored credentials that are sealed with a key. */
export const countKeyedBy = (db: Db, keyId: string): Effect.Effect<number> =>
  Effect.map(sealedCredentials(db), (rows) => rows.filter(({ sealed }) => sealedWith(sealed) === keyId).length)

/**
 * Seals the stored credentials with the current key of the ring and gives the number of those that had another key. A credential that cannot be
 * opened stays as it is. Each statement is a commit of its own, so that the work can stop anywhere and be repeated.
 */
export const rewrap = Effect.fnUntraced(function* (db: Db, vault: Vault["Type"]) {
  let count = 0
  for (const { connection_id, id, sealed } of yield* sealedCredentials(db)) {
    const again = yield* Effect.option(vault.rewrap(sealed, credentialContext(connection_id, id)))
    if (Option.isNone(again) || again.value === sealed) continue
    // A credential that was replaced or revoked meanwhile is left alone.
    yield* db.run(db.sql`update credentials set sealed = ${again.value} where id = ${id} and sealed = ${sealed}`)
    count++
  }
  return count
})

const sealedCredentials = (db: Db) =>
  db.all(db.sql<{ id: string; connection_id: string; sealed: string }>`
    select id, connection_id, sealed from credentials where sealed is not null order by id`)
