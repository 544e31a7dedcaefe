import { Effect } from "effect"
import type { Commit } from "./Commit.js"
import type { Database } from "./Database.js"

/**
 * Keeps other commits that ask for the same name waiting until the open one is through, in every process: PostgreSQL would let two commits each see
 * a place that only one of them can have. SQLite has one writer.
 */
export const alone = ({ dialect, run, sql }: Database["Type"], name: string): Effect.Effect<void, never, Commit> =>
  dialect === "pg" ? run(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`) : Effect.void
