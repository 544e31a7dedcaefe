import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import * as SealedCredentials from "../connections/SealedCredentials.js"
import { sessionFacts } from "../sessions/SessionFacts.js"
import { Database } from "../store/Database.js"
import { applied, requireKnown } from "../store/Migrations.js"
import * as WebhookSecrets from "../webhooks/SealedSecrets.js"
import { BackupError } from "./BackupManifest.js"

/**
 * The steps of the schema that a database has, its sessions, and the keys that its credentials are sealed with. Fails for a database of a
 * newer release and for an empty one.
 */
export const inventory = Effect.gen(function* () {
  const db = yield* Database
  const schema = yield* Effect.orDie(Effect.provideService(applied, SqlClient.SqlClient, db.sql))
  yield* Effect.mapError(requireKnown(schema), ({ message }) => new BackupError({ message }))
  if (schema.length === 0) {
    const message = "The database is empty: there is no installation in it. Check --data-dir and --database-url."
    return yield* new BackupError({ message })
  }
  return {
    schema,
    sessions: yield* sessionFacts(db),
    keyIds: [...new Set([...(yield* SealedCredentials.keyIds(db)), ...(yield* WebhookSecrets.keyIds(db))])]
  }
})
