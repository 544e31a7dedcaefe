import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import * as Postgres from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { temporary } from "@reins/testing/git/Fixture"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { build } from "esbuild"

const sources = pathToFileURL(join(import.meta.dirname, "../../src/store/SqliteDriver.ts")).href

const bundled = (outfile: string) =>
  Effect.promise(() =>
    build({
      entryPoints: [join(import.meta.dirname, "OversightKills.ts")],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      conditions: ["@reins/source"],
      external: ["pg-native"],
      // The drivers are found from the sources, as are the modules that ask for others when they run.
      define: { "import.meta.url": JSON.stringify(sources) },
      banner: {
        js: `import { createRequire as requireFrom } from "node:module"; const require = requireFrom(${JSON.stringify(sources)});`
      },
      logLevel: "error"
    })
  )

interface Kind {
  readonly name: string
  readonly place: Effect.Effect<string, never, Scope.Scope>
  readonly open: (place: string) => Layer.Layer<Database>
}

const kinds: ReadonlyArray<Kind> = [
  {
    name: "SQLite",
    place: Effect.map(temporary, (root) => join(root, "data")),
    open: (place: string) => Layer.orDie(Layer.merge(Sqlite.layer(place), Bell.layer))
  },
  {
    name: "PostgreSQL",
    place: Effect.map(postgresDatabase, Redacted.value),
    open: (place: string) => Layer.orDie(Postgres.layer(Redacted.make(place), { clock: "process" }))
  }
]

/** The steps of a command, in their order, and the rows that it leaves when it is killed there. */
const steps = { allowed: 0, done: 0, audited: 0, committed: 1, none: 1 } as const

describe("a process that is killed while it runs a command", () => {
  for (const { name: database, open, place: makePlace } of kinds)
    it.scopedLive(
      `leaves the effect and its audit row, or neither, on ${database}`,
      () =>
        Effect.gen(function* () {
          const program = join(yield* temporary, "kills.mjs")
          yield* bundled(program)
          const place = yield* makePlace
          for (const step of Object.keys(steps)) {
            const args = [program, database, place, `killed.${step}`, step]
            const { signal, status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" })
            assert.strictEqual(signal, step === "none" ? null : "SIGKILL", stderr)
            assert.strictEqual(status, step === "none" ? 0 : null, stderr)
          }
          const rowsOf = Effect.fnUntraced(function* (step: string) {
            const { all, sql } = yield* Database
            const effects = yield* all(sql`select id from throttle_hits where subject = ${`killed.${step}`}`)
            const audited = yield* all(sql`select command from audit where command = ${`killed.${step}`}`)
            return [effects.length, audited.length] as const
          })
          yield* Effect.forEach(Object.entries(steps), ([step, rows]) =>
            Effect.map(rowsOf(step), ([effects, audited]) =>
              assert.deepStrictEqual([effects, audited], [rows, rows], step)
            )
          ).pipe(Effect.provide(open(place)))
        }),
      120_000
    )
})
