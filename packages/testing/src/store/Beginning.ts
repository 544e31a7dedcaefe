import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import * as Migrations from "@reins/core/store/Migrations"
import * as SqliteEngine from "@reins/core/store/SqliteEngine"
import { Effect, Layer, type Scope } from "effect"

/** A directory as it was made, and what making it gave. */
export interface Begun<A> {
  readonly root: string
  readonly made: A
}

/**
 * A directory in which tests begin. `make` fills it, and leaves nothing open when its scope closes. This process does that once, at the first
 * test, and copies the directory for each test. It has the same path each time, so files may name it, and one test at a time may use it.
 */
export const beginning = <A>(make: (root: string) => Effect.Effect<A, never, Scope.Scope>) => {
  let kept: { readonly place: string; readonly made: A } | undefined
  const keep = Effect.gen(function* () {
    if (kept !== undefined) return kept
    const place = mkdtempSync(join(tmpdir(), "reins-begun-"))
    process.once("exit", () => rmSync(place, { recursive: true, force: true }))
    mkdirSync(join(place, "live"))
    const made = yield* Effect.scoped(make(join(place, "live")))
    renameSync(join(place, "live"), join(place, "kept"))
    kept = { place, made }
    return kept
  })
  const copy = ({ made, place }: { readonly place: string; readonly made: A }) =>
    Effect.acquireRelease(
      Effect.sync((): Begun<A> => {
        const root = join(place, "live")
        cpSync(join(place, "kept"), root, { recursive: true, errorOnExist: true, force: false })
        return { root, made }
      }),
      ({ root }) => Effect.sync(() => rmSync(root, { recursive: true, force: true }))
    )
  return Effect.flatMap(keep, copy)
}

/** The database in a file of a directory, which is made with the schema when it does not exist. It need not survive a loss of power. */
export const databaseIn = (root: string): Layer.Layer<Database | Bell> =>
  Layer.merge(
    Layer.scoped(
      Database,
      SqliteEngine.openEngine(
        { file: join(root, "reins.db"), synchronous: "off", busyMs: 2000 },
        Effect.orDie(Migrations.migrate)
      )
    ),
    Bell.layer
  )
