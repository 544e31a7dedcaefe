import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import type { Database } from "@reins/core/store/Database"
import { failedStatementOf } from "@reins/core/store/FailedStatement"
import type { PreparedQuery } from "@reins/core/store/Query"
import { openSqlite, type SqliteDatabase } from "@reins/core/store/SqliteDriver"
import * as SqliteEngine from "@reins/core/store/SqliteEngine"
import { Cause, Effect, Exit, Option, type Scope } from "effect"

/** The next turn of the event loop. */
export const nextTurn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

export interface Thing {
  readonly name: string
  readonly size: number
}

interface Things {
  readonly db: Database["Type"]
  readonly file: string
  /** A connection to the same file as another process would have one. It waits for nobody. */
  readonly other: SqliteDatabase
  readonly insert: (name: string, size?: number) => Effect.Effect<void>
  readonly byName: (name: string) => PreparedQuery<Thing>
  /** The names of what is committed, as another process sees it. */
  readonly committed: () => Array<string>
}

/** A database in a file of its own with a table `things`, as a server opens one. */
export const openThings = ({
  busyMs = 30_000,
  synchronous = "full"
}: {
  readonly busyMs?: number
  readonly synchronous?: "full" | "off"
} = {}): Effect.Effect<Things, never, Scope.Scope> =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-engine-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const file = join(directory, "things.db")
    const db = yield* SqliteEngine.openEngine({ file, synchronous, busyMs }, Effect.void)
    const other = yield* Effect.acquireRelease(
      Effect.sync(() => openSqlite(file, { timeout: 0 })),
      (connection) => Effect.sync(() => connection.close())
    )
    other.exec("create table things (name text primary key, size integer not null)")
    const { sql } = db
    const insertRow = db.prepareRow((row) => sql`insert into things ${sql.insert(row)}`)
    const bySize = other.prepare<[], { readonly name: string }>("select name from things order by size, name")
    return {
      db,
      file,
      other,
      insert: (name: string, size = 0) => db.run(insertRow({ name, size })),
      byName: db.prepare((name: string) => sql<Thing>`select * from things where name = ${name}`),
      committed: () => bySize.all().map(({ name }) => name)
    }
  })

/** The code of SQLite that the effect died of. */
export const codeOf = (exit: Exit.Exit<unknown, unknown>): string | undefined =>
  Exit.isFailure(exit) ? failedStatementOf(Option.getOrUndefined(Cause.dieOption(exit.cause)))?.code : undefined

/**
 * Puts another file in the place of the log that the connections of this process have open, until the returned function is called. What is
 * written to `/dev/full` finds no room, and what is written to `/dev/null` cannot be brought to the disk by an fsync.
 */
export const replaceLog = (file: string, replacement: string, flags: "r" | "w"): (() => void) => {
  const log = `${file}-wal`
  const open = readdirSync("/proc/self/fd")
    .map(Number)
    .filter((descriptor) => targetOf(descriptor) === log)
  assert.isNotEmpty(open)
  const put = (path: string, how: string) => {
    for (const descriptor of open) {
      closeSync(descriptor)
      // The system gives out the lowest number that is free.
      assert.strictEqual(openSync(path, how), descriptor)
    }
  }
  put(replacement, flags)
  return () => put(log, "r+")
}

const targetOf = (descriptor: number): string | undefined => {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`)
  } catch {
    return undefined
  }
}

/** The number of commits in the log of a database since it was last begun anew. Each of them is one frame that tells the size of the file. */
export const countCommits = (file: string): number => {
  const log = readFileSync(`${file}-wal`)
  const frameSize = 24 + log.readUInt32BE(8)
  let commits = 0
  for (let at = 32; at + frameSize <= log.length; at += frameSize) {
    if (log.compare(log, 16, 24, at + 8, at + 16) !== 0) break
    if (log.readUInt32BE(at + 4) > 0) commits++
  }
  return commits
}
