import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { sealedWith } from "../secrets/Vault.js"
import type { SessionRow } from "../sessions/SessionStore.js"
import { Database } from "../store/Database.js"
import { applied, requireKnown } from "../store/Migrations.js"
import { BackupError } from "./BackupManifest.js"

export type SessionFacts = Pick<
  SessionRow,
  "id" | "lease_state" | "lifecycle" | "native_session_id" | "workspace_state"
>

/** What a database says of the files that belong to it, whichever release made it. */
export const inventory = Effect.gen(function* () {
  const db = yield* Database
  const schema = yield* Effect.orDie(Effect.provideService(applied, SqlClient.SqlClient, db.sql))
  yield* Effect.mapError(requireKnown(schema), ({ message }) => new BackupError({ message }))
  if (schema.length === 0) {
    const message = "The database is empty: there is no installation in it. Check --data-dir and --database-url."
    return yield* new BackupError({ message })
  }
  const sessions = yield* db.all(
    db.sql<SessionFacts>`select id, lifecycle, workspace_state, lease_state, native_session_id from sessions order by id`
  )
  const credentials = yield* db.all(db.sql<{ sealed: string }>`select sealed from credentials where sealed is not null`)
  const keyIds = [...new Set(credentials.flatMap(({ sealed }) => sealedWith(sealed) ?? []))].sort()
  return { schema, sessions, keyIds }
})

/** The sessions that are closed now. */
export const closedSessions = Effect.gen(function* () {
  const db = yield* Database
  const rows = yield* db.all(db.sql<{ id: string }>`select id from sessions where lifecycle = 'closed'`)
  return new Set(rows.map(({ id }) => id))
})
