import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto"
import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { newId, SigningKeyId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { PageRequest } from "@reins/base/domain/Page"
import { now } from "@reins/base/domain/Timestamp"
import type { SealedRecord } from "@reins/base/secrets/SealedRecords"
import { Vault } from "@reins/base/secrets/Vault"
import { Effect, Redacted } from "effect"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import * as Keyset from "../../store/Keyset.js"
import type { SigningKey } from "./SigningKey.js"
import { fingerprintOf, publicLine } from "./SshSignature.js"

type Db = Database["Type"]

interface SigningKeyRow extends SigningKey {
  readonly sealed: string
}

/** A private half opens for its id in its workspace only, so that no change of a row leads it to another tenant. */
const contextOf = ({ id, workspace_id }: Pick<SigningKey, "id" | "workspace_id">): string =>
  canonicalJson(["signing key", workspace_id, id])

const shown = ({ sealed: _, ...key }: SigningKeyRow): SigningKey => key

/** The rows of signing keys. */
export const signingKeyStore = Effect.map(Effect.all([Database, Vault]), ([db, vault]) => {
  const { sql } = db
  const find = (id: string) => db.first(sql<SigningKeyRow>`select * from signing_keys where id = ${id}`)
  return {
    find: (id: string): Effect.Effect<SigningKey | undefined> =>
      Effect.map(find(id), (row) => (row === undefined ? undefined : shown(row))),
    /** The keys of a workspace, newest first. */
    list: Effect.fnUntraced(function* (workspaceId: string, page: PageRequest) {
      const { before, limit } = yield* Keyset.descending(page)
      const rows = yield* db.all(sql<SigningKeyRow>`select * from signing_keys
        where workspace_id = ${workspaceId} and id < ${before} order by id desc limit ${limit + 1}`)
      return Keyset.page(rows.map(shown), limit, (key) => key.id)
    }),
    /** The id of the newest key of a workspace; null for none. */
    newest: (workspaceId: string): Effect.Effect<SigningKeyId | null> =>
      Effect.map(
        db.first(sql<{ id: SigningKeyId }>`select id from signing_keys
          where workspace_id = ${workspaceId} order by id desc limit 1`),
        (row) => row?.id ?? null
      ),
    count: (workspaceId: string): Effect.Effect<number> =>
      Effect.map(
        db.first(
          sql<{
            count: number | string
          }>`select count(*) as count from signing_keys where workspace_id = ${workspaceId}`
        ),
        (row) => Number(row?.count ?? 0)
      ),
    /** Makes a key. */
    add: Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
      const { privateKey, publicKey } = generateKeyPairSync("ed25519")
      const id = yield* newId(SigningKeyId)
      const text = privateKey.export({ format: "der", type: "pkcs8" }).toString("base64")
      const row: SigningKeyRow = {
        id,
        workspace_id: workspaceId,
        public_key: publicLine(publicKey),
        fingerprint: fingerprintOf(publicKey),
        sealed: yield* vault.seal(Redacted.make(text), contextOf({ id, workspace_id: workspaceId })),
        created_at: yield* now
      }
      yield* db.run(sql`insert into signing_keys ${sql.insert({ ...row })}`)
      return shown(row)
    }) satisfies (workspaceId: WorkspaceId) => Effect.Effect<SigningKey, never, Commit>,
    /** Destroys a key. */
    remove: (id: SigningKeyId): Effect.Effect<void, never, Commit> =>
      db.run(sql`delete from signing_keys where id = ${id}`),
    /** The private half; undefined where the key is not there, or no key of the installation opens it. */
    open: Effect.fnUntraced(function* (id: string) {
      const row = yield* find(id)
      if (row === undefined) return undefined
      const text = yield* Effect.option(vault.unseal(row.sealed, contextOf(row)))
      return text._tag === "None" ? undefined : privateKeyOf(text.value)
    })
  }
})

const privateKeyOf = (text: Redacted.Redacted): Redacted.Redacted<KeyObject> =>
  Redacted.make(createPrivateKey({ key: Buffer.from(Redacted.value(text), "base64"), format: "der", type: "pkcs8" }))

/** The stored private halves of signing keys. */
export const signingKeyRecords = (db: Db): Effect.Effect<ReadonlyArray<SealedRecord>> => {
  const { sql } = db
  return Effect.map(db.all(sql<SigningKeyRow>`select * from signing_keys order by id`), (rows) =>
    rows.map((row) => ({
      sealed: row.sealed,
      context: contextOf(row),
      replace: (again: string) =>
        db.run(sql`update signing_keys set sealed = ${again} where id = ${row.id} and sealed = ${row.sealed}`)
    }))
  )
}
