import { existsSync } from "node:fs"
import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { sessionsWithChanges } from "../changes/ChangesetFacts.js"
import * as NodeRows from "../placement/NodeRows.js"
import * as SealedRecords from "../secrets/SealedRecords.js"
import { type SessionFacts, sessionFacts } from "../sessions/SessionFacts.js"
import { sessionPaths } from "../sessions/SessionPaths.js"
import { ringKeyId } from "../store/Agreements.js"
import { Database } from "../store/Database.js"
import { applied, requireKnown } from "../store/Migrations.js"
import { everySealed } from "../webhooks/SealedSecrets.js"
import { BackupError } from "./BackupManifest.js"

/**
 * The steps of the schema that a database has, its sessions, those of them that have changesets, the number of sessions whose files each node
 * has, the key of the ring that several machines share, and the keys that its credentials are sealed with. Fails for a database of a newer release and for an empty one.
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
    changed: yield* sessionsWithChanges(db),
    holders: schema.some(({ name }) => name === "nodes") ? yield* NodeRows.held(db) : new Map<string, number>(),
    ringKeyId: schema.some(({ name }) => name === "several_machines") ? yield* ringKeyId(db) : undefined,
    keyIds: SealedRecords.keyIds(yield* everySealed(db))
  }
})

/**
 * The sessions whose files are not all in a data directory: another machine that works on the same database has them, or somebody has removed
 * them. A workspace that is still being made is none of them.
 */
export const lacking = (
  dataDir: string,
  { changed, sessions }: Pick<Effect.Effect.Success<typeof inventory>, "changed" | "sessions">
): ReadonlyArray<SessionFacts> =>
  sessions.filter(({ id, lifecycle, workspace_state }) => {
    const { gitDir, workTree } = sessionPaths(dataDir, id)
    if (workspace_state !== "ready" && workspace_state !== "removed") return false
    // The workspace of a closed session is on its way out.
    const isOpen = workspace_state === "ready" && lifecycle !== "closed"
    return isOpen ? !existsSync(workTree) || !existsSync(gitDir) : changed.has(id) && !existsSync(gitDir)
  })
