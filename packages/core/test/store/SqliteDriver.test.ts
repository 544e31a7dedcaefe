import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { closeSqlite, driverFor, isSqliteError, openSqlite, SqliteDriverMissing } from "@reins/core/store/SqliteDriver"
import { afterAll } from "vitest"

const directory = mkdtempSync(join(tmpdir(), "reins-driver-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Runs a module on the build of the core, which has the driver as programs load it. */
const runModule = (lines: ReadonlyArray<string>) => {
  const driver = new URL("../../dist/store/SqliteDriver.js", import.meta.url).href
  const program = [`import { openSqlite } from ${JSON.stringify(driver)}`, ...lines].join("\n")
  return spawnSync(process.execPath, ["--expose-gc", "--input-type=module", "--eval", program], { encoding: "utf8" })
}

const writing = (file: string): ReadonlyArray<string> => [
  `const db = openSqlite(${JSON.stringify(file)})`,
  `db.pragma("journal_mode = wal")`,
  `db.exec("create table if not exists t (n)")`,
  // Statements that nobody holds any more are collected while the process goes on.
  'for (let n = 0; n < 2000; n++) db.prepare("insert into t values (" + n + ")").run()',
  "gc(); await new Promise(setImmediate); gc()"
]

/** SQLite deletes the log of a file whose last connection is closed, and leaves that of one which was not. */
const wasClosed = (file: string): boolean => existsSync(file) && !existsSync(`${file}-wal`)

describe("the driver of SQLite", () => {
  it("fits the release of Node", () => {
    for (const version of ["20.19.0", "20.20.2", "21.7.3"])
      assert.strictEqual(driverFor(version), "@reins/sqlite-node20")
    for (const version of ["22.0.0", "24.19.0", "24.21.0", "26.10.0", "100.0.0"])
      assert.strictEqual(driverFor(version), "better-sqlite3")
  })

  it("says what to do where it is missing", () => {
    const { message } = new SqliteDriverMissing(new Error("Cannot find module 'x'\nRequire stack:\n- /a"))
    assert.include(message, process.versions.node)
    assert.include(message, "optional dependencies")
    assert.include(message, "Cannot find module 'x'")
    assert.notInclude(message, "Require stack")
  })

  for (const [end, lines, status] of [
    ["the last line", [], 0],
    ["process.exit", ["process.exit(3)"], 3],
    ["an uncaught error", ['throw new Error("x")'], 1],
    ["an unhandled rejection", ['void Promise.reject(new Error("x"))'], 1]
  ] as const)
    it(`closes what is open after ${end}, with the status of the program`, () => {
      const file = join(directory, `${end.replaceAll(/\W/g, "-")}.db`)
      const ended = runModule([...writing(file), ...lines])
      assert.deepStrictEqual([ended.status, ended.signal], [status, null], ended.stderr)
      assert.isTrue(wasClosed(file))
    })

  it("outlives worker threads that end or are terminated in its midst", () => {
    const file = join(directory, "worker.db")
    const driver = new URL("../../dist/store/SqliteDriver.js", import.meta.url).href
    const inWorker = `Promise.all([import(${JSON.stringify(driver)}), import("node:worker_threads")]).then(([{ openSqlite }, threads]) => {
      const db = openSqlite(${JSON.stringify(file)}, { timeout: 5000 })
      db.exec("create table if not exists t (n)")
      threads.parentPort.postMessage("open")
      if (process.env.ENDS === "") return process.exit()
      for (let n = 0; ; n++) db.prepare("select " + n).get()
    })`
    const ended = runModule([
      'import { Worker } from "node:worker_threads"',
      "for (const ends of [true, false, true, false]) {",
      `  const worker = new Worker(${JSON.stringify(inWorker)}, { eval: true, env: { ENDS: ends ? "" : "no" } })`,
      '  const exited = new Promise((done) => worker.once("exit", done))',
      '  await new Promise((done) => worker.once("message", done))',
      "  if (!ends) await worker.terminate()",
      "  await exited",
      "}",
      "gc()",
      'console.log("alive")'
    ])
    assert.deepStrictEqual([ended.status, ended.stdout.trim()], [0, "alive"], ended.stderr)
  })

  it("closes a file once, and knows the errors of SQLite by their codes", () => {
    const database = openSqlite(join(directory, "twice.db"))
    try {
      database.exec("nonsense")
      assert.fail("it is no statement")
    } catch (error) {
      assert.isTrue(isSqliteError(error, "SQLITE_ERROR"))
      assert.isFalse(isSqliteError(error, "SQLITE_BUSY"))
    }
    closeSqlite(database)
    closeSqlite(database)
    assert.isFalse(isSqliteError(new Error("SQLITE_ERROR"), "SQLITE_ERROR"))
  })
})
