import { constants } from "node:fs"
import { access, statfs } from "node:fs/promises"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { onceFor } from "@reins/base/base/Once"
import { isOlder, release } from "@reins/base/base/Release"
import { now } from "@reins/base/domain/Timestamp"
import { Cause, Context, Effect, Layer } from "effect"
import { currentAgreement } from "./Agreements.js"
import { Database } from "./Database.js"
import { defectFields } from "./FailedStatement.js"
import { known } from "./Migrations.js"
import { describeFault, type StorageFault, storageFaultOf } from "./StorageFault.js"

/** The state of each part: `ok`, or the reason that the service cannot do its work. */
export interface ReadinessReport {
  /** `ok` when a write was kept just now. */
  readonly database: "ok" | "busy" | "unavailable" | StorageFault
  /**
   * `ok` for the schema of this release, and `expanded` for one that a newer release has added to, on which this one works as before. This release
   * does not work with that of an `other_release`.
   */
  readonly migrations: "ok" | "expanded" | "other_release" | "unknown"
  /** `ok` when the data directory takes files. */
  readonly disk: "ok" | StorageFault
}

/** The least free space in the data directory, because a turn needs some. */
const leastFreeBytes = 16 * 1024 * 1024

/** The time for which one answer is given again, because each check writes to the disk and anybody may ask. */
const freshness = "1 second"

/** Finds out whether the service can do its work now. */
export class Readiness extends Context.Tag("@reins/core/store/Readiness")<
  Readiness,
  {
    /** The report of the last second. */
    readonly check: Effect.Effect<ReadinessReport>
  }
>() {
  static readonly layer = Layer.effect(
    Readiness,
    Effect.gen(function* () {
      const db = yield* Database
      const { dataDir } = yield* CoreConfig

      const database: Effect.Effect<ReadinessReport["database"]> = Effect.flatMap(now, (at) =>
        db.run(db.sql`insert into readiness (id, checked_at) values (1, ${at})
          on conflict (id) do update set checked_at = excluded.checked_at`)
      ).pipe(
        Effect.as("ok" as const),
        // The answer does not wait for a database that is stuck.
        Effect.disconnect,
        Effect.timeoutTo({ duration: "2 seconds", onSuccess: (found) => found, onTimeout: () => "busy" as const }),
        Effect.catchAllDefect((defect) => {
          const fault = storageFaultOf(Cause.die(defect))
          return Effect.as(
            fault === undefined
              ? Effect.annotateLogs(Effect.logWarning("the database cannot be written"), defectFields(defect))
              : Effect.logWarning(`${describeFault(fault)}: the database cannot be written`),
            fault ?? ("unavailable" as const)
          )
        })
      )

      const own = known.at(-1)?.id ?? 0
      const newest = Effect.map(
        db.first(db.sql<{ newest: number }>`select max(migration_id) as newest from effect_sql_migrations`),
        (row) => row?.newest ?? 0
      ).pipe(
        Effect.disconnect,
        // The table is locked while a newer release takes a step. What counts for this one stands elsewhere.
        Effect.timeoutTo({ duration: "1 second", onSuccess: (found) => found, onTimeout: () => own })
      )

      const migrations: Effect.Effect<ReadinessReport["migrations"]> = Effect.gen(function* () {
        const needs = yield* currentAgreement(db, "min_release")
        if (needs !== undefined && isOlder(release, needs)) return "other_release"
        const found = yield* newest
        return found === own ? "ok" : found > own ? "expanded" : "other_release"
      }).pipe(
        Effect.disconnect,
        Effect.timeoutTo({ duration: "2 seconds", onSuccess: (found) => found, onTimeout: () => "unknown" as const }),
        Effect.catchAllDefect(() => Effect.succeed("unknown" as const))
      )

      const disk: Effect.Effect<ReadinessReport["disk"]> = Effect.tryPromise(async () => {
        await access(dataDir, constants.W_OK)
        const { bavail, bsize } = await statfs(dataDir)
        return bavail * bsize < leastFreeBytes ? ("disk_full" as const) : ("ok" as const)
      }).pipe(Effect.catchAllCause((cause) => Effect.succeed(storageFaultOf(cause) ?? ("io_error" as const))))

      return Readiness.of({
        check: yield* onceFor(Effect.all({ database, migrations, disk }, { concurrency: 3 }), freshness)
      })
    })
  )
}
