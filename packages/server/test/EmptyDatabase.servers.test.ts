import {
  type FSWatcher,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  watch,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { databaseFile } from "@reins/core/store/DataDirectory"
import { copyEmptyDatabase } from "@reins/core/store/EmptyDatabase"
import * as Sqlite from "@reins/core/store/Sqlite"
import { closeSqlite, openSqlite } from "@reins/core/store/SqliteDriver"
import { killServers, published, spawnServer, startServer } from "@reins/testing/process/ServerProcess"
import { Effect, Layer } from "effect"
import { afterAll } from "vitest"

/** The file that the build makes beside the program. */
const built = join(dirname(published), "empty.db")

let directory = ""
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "reins-empty-"))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
afterAll(killServers)

const contentOf = (file: string) => {
  const database = openSqlite(file, { fileMustExist: true })
  try {
    const all = (text: string): Array<Record<string, unknown>> =>
      database.prepare<[], Record<string, unknown>>(text).all()
    const schema = all("select type, name, tbl_name, sql from sqlite_master order by type, name")
    const tables = schema.flatMap(({ name, type }) => (type === "table" ? [String(name)] : []))
    const rows = tables.map((name) => [
      name,
      // The build has taken the steps at another time.
      all(`select * from "${name}"`).map(({ created_at, ...row }) =>
        name === "effect_sql_migrations" ? row : { ...row, created_at }
      )
    ])
    const settings = ["journal_mode", "page_size", "auto_vacuum", "encoding", "user_version", "application_id"]
    return { schema, rows: Object.fromEntries(rows), settings: settings.map((name) => database.pragma(name)) }
  } finally {
    closeSqlite(database)
  }
}

/** The database that the steps of the schema make in a new directory. */
const migrated = async (name: string): Promise<string> => {
  const dataDir = join(directory, name)
  await Effect.runPromise(Effect.scoped(Layer.build(Layer.provide(Sqlite.layer(dataDir), Sqlite.lockLayer(dataDir)))))
  return databaseFile(dataDir)
}

const copied = (name: string): string => {
  mkdirSync(join(directory, name))
  const file = databaseFile(join(directory, name))
  copyEmptyDatabase(file, built)
  return file
}

const namesBeside = (file: string): ReadonlyArray<string> => readdirSync(dirname(file)).sort()

describe("a database that is copied into a new data directory", () => {
  it("equals one that the steps of the schema make, in its tables and in its rows", async () => {
    const content = contentOf(copied("copied"))
    assert.deepStrictEqual(content, contentOf(await migrated("migrated")))
    assert.isAbove(content.rows["effect_sql_migrations"]?.length ?? 0, 20)
    assert.include(JSON.stringify(content.rows["agreements"]), "min_release")
  })

  it("has the mode that SQLite gives a database, and nothing beside it", async () => {
    const file = copied("copied")
    assert.strictEqual(statSync(file).mode, statSync(await migrated("migrated")).mode)
    assert.deepStrictEqual(namesBeside(file), ["reins.db"])
  })

  it("stays away from a directory that has a database, or the log of one", () => {
    for (const name of ["reins.db", "reins.db-wal", "reins.db-journal"]) {
      const dataDir = mkdtempSync(join(directory, "other-"))
      writeFileSync(join(dataDir, name), "other")
      copyEmptyDatabase(databaseFile(dataDir), built)
      assert.deepStrictEqual(readdirSync(dataDir), [name])
      assert.strictEqual(statSync(join(dataDir, name)).size, 5)
    }
  })

  it("is made anew after a process was killed on the way to it, and kept after one was killed behind it", () => {
    const before = mkdtempSync(join(directory, "before-"))
    writeFileSync(join(before, "reins.db.new"), "a part of it")
    copyEmptyDatabase(databaseFile(before), built)
    assert.deepStrictEqual(namesBeside(databaseFile(before)), ["reins.db"])
    const whole = contentOf(databaseFile(before))

    const behind = dirname(copied("behind"))
    linkSync(join(behind, "reins.db"), join(behind, "reins.db.new"))
    copyEmptyDatabase(databaseFile(behind), built)
    assert.deepStrictEqual(namesBeside(databaseFile(behind)), ["reins.db"])
    assert.deepStrictEqual(contentOf(databaseFile(behind)), whole)
  })

  it("is not made where the build has none", () => {
    copyEmptyDatabase(databaseFile(directory), join(directory, "none.db"))
    assert.isEmpty(readdirSync(directory))
  })
})

describe("a server that is killed while it copies the database", () => {
  /** Resolves when a name of that beginning is made in a directory, or taken out of it. */
  const seen = (path: string, beginning: string) => {
    let watcher: FSWatcher | undefined
    const found = new Promise<void>((resolve) => {
      watcher = watch(path, (_, name) => {
        if (name?.startsWith(beginning) === true) resolve()
      })
    })
    return found.finally(() => watcher?.close())
  }

  it.each(["server.lock", "reins.db.new", "reins.db"])(
    "at the sight of %s leaves none or a whole one",
    async (name) => {
      const dataDir = join(directory, "data")
      mkdirSync(dataDir)
      const sight = seen(dataDir, name)
      const server = spawnServer({ dataDir })
      await sight
      server.kill("SIGKILL")
      await server.ended
      if (readdirSync(dataDir).includes("reins.db")) {
        const { rows } = contentOf(databaseFile(dataDir))
        assert.isAbove(rows["effect_sql_migrations"]?.length ?? 0, 20)
      }
      const next = await startServer({ dataDir })
      next.kill("SIGTERM")
      assert.strictEqual((await next.ended).code, 0)
      assert.notInclude(readdirSync(dataDir), "reins.db.new")
    }
  )
})
