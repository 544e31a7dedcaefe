// The work that the database has with one request: the statements that run, and the trees of SQLite that are written. Both are counted, so that
// no other work on the machine changes them.
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { closeSqlite, openSqlite } from "@reins/core/internal/store/SqliteDriver"

/**
 * The most statements and trees of a request, which the bench and a test hold. Each read and each transaction counts its beginning and its end.
 * A table without `without rowid` is two trees: its rows, and the index of its key.
 */
export const allowedWork = {
  "GET a session": { statements: 5, trees: 0 },
  "GET a page of events": { statements: 7, trees: 0 },
  "POST a session": { statements: 18, trees: 19 },
  "POST a note": { statements: 16, trees: 14 }
}

/** Has the driver of this process tell each statement that it runs. Gives the way to end that. */
export const overhear = (hear) => {
  const some = openSqlite(":memory:")
  const statements = Object.getPrototypeOf(some.prepare("select 1"))
  closeSqlite(some)
  const own = {}
  for (const name of ["run", "get", "all", "iterate"]) {
    const method = statements[name]
    own[name] = method
    statements[name] = function (...values) {
      hear(this.source)
      return method.apply(this, values)
    }
  }
  return () => Object.assign(statements, own)
}

/** Has the driver write each statement into a file, as one line. */
export const overhearInto = (file) =>
  overhear((text) => appendFileSync(file, `${text.replaceAll(/\s+/g, " ").trim()}\n`))

/** The lines of such a file. */
export const heardIn = (file) => readFileSync(file, "utf8").split("\n").slice(0, -1)

/** The pages that the write-ahead log of a database holds, in their order. A page stands there once for each commit that changed it. */
const loggedPages = (database) => {
  const log = `${database}-wal`
  const bytes = existsSync(log) ? readFileSync(log) : Buffer.alloc(0)
  if (bytes.length < 32) return []
  const pageSize = bytes.readUInt32BE(8)
  const pages = []
  // The frames of an earlier round of the log have other salts (https://sqlite.org/fileformat2.html#walformat).
  for (let at = 32; at + 24 + pageSize <= bytes.length && isOfRound(bytes, at); at += 24 + pageSize)
    pages.push(bytes.readUInt32BE(at))
  return pages
}

const isOfRound = (log, frame) => log.compare(log, 16, 24, frame + 8, frame + 16) === 0

/** The trees of a database that some pages belong to, by name: tables and indexes. */
const treesOf = (database, pages) => {
  const db = openSqlite(database, { readonly: true })
  const treeOf = new Map(db.prepare("select pageno, name from dbstat").raw().all())
  closeSqlite(db)
  return [...new Set(pages.map((page) => treeOf.get(page) ?? "the list of free pages"))].sort()
}

/**
 * Counts a request some times and gives the least, because other work of the server may come in between. `before` runs uncounted each time: after a
 * change nothing that was read is kept.
 */
export const leastWork = async ({ before = () => {}, database, heard, run, times = 6 }) => {
  let least
  for (let time = 0; time < times; time++) {
    await before()
    const begun = { statements: heard().length, pages: loggedPages(database).length }
    await run()
    const statements = heard().slice(begun.statements)
    const trees = treesOf(database, loggedPages(database).slice(begun.pages))
    least = {
      statements: statements.length < (least?.statements.length ?? Infinity) ? statements : least.statements,
      trees: trees.length < (least?.trees.length ?? Infinity) ? trees : least.trees
    }
  }
  return least
}
