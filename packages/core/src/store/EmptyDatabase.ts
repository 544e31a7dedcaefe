import { closeSync, existsSync, fsyncSync, linkSync, openSync, readSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, type Scope } from "effect"
import { migrate } from "./Migrations.js"
import * as SqliteEngine from "./SqliteEngine.js"

/** A database with the schema and without an installation. The build makes it beside the program; elsewhere it is not there. */
const emptyDatabase = fileURLToPath(new URL("./empty.db", import.meta.url))

/** Makes a file with the schema of this release, by its migrations. It need not survive a loss of power. */
export const makeEmptyDatabase = (file: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(SqliteEngine.openEngine({ file, synchronous: "off", busyMs: 2000 }, Effect.orDie(migrate)))

/**
 * Copies an empty database to `file`, because the statements of the schema take longer. A database that is there stays as it is, and the copy is whole
 * or not there, however the process ends. Where it cannot be made, nothing is. Nobody else may copy to the same file meanwhile.
 */
export const copyEmptyDatabase = (file: string, from = emptyDatabase): void => {
  const copy = `${file}.new`
  // A process that was killed has left it behind.
  if (existsSync(copy)) rmSync(copy, { force: true })
  if (!existsSync(from) || ["", "-wal", "-journal"].some((ending) => existsSync(file + ending))) return
  try {
    copyFile(from, copy)
    // Fails where another process has made the database meanwhile, which a rename would replace.
    linkSync(copy, file)
    flush(dirname(file))
  } catch {
    // The migrations make the database then, or say why it cannot be made.
  } finally {
    rmSync(copy, { force: true })
  }
}

/** Copies a file in small pieces down to the disk, with the mode that SQLite gives its own. */
const copyFile = (from: string, to: string): void => {
  withFile(from, "r", (source) =>
    withFile(to, "wx", (target) => {
      const piece = Buffer.allocUnsafe(65_536)
      for (let bytes = readSync(source, piece); bytes > 0; bytes = readSync(source, piece))
        writeFileSync(target, piece.subarray(0, bytes))
      fsyncSync(target)
    })
  )
}

/** Brings the names in a directory to the disk. Windows does not open directories, and needs nothing of it. */
const flush = (directory: string): void => {
  if (process.platform !== "win32") withFile(directory, "r", fsyncSync)
}

const withFile = (path: string, flags: "r" | "wx", use: (descriptor: number) => void): void => {
  const descriptor = openSync(path, flags, 0o644)
  try {
    use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
