import { join } from "node:path"

/** The SQLite database of an installation. */
export const databaseFile = (dataDir: string): string => join(dataDir, "reins.db")

/** Held by the one server that works on the directory. */
export const serverLock = (dataDir: string): string => join(dataDir, "server.lock")

/** Holds a restore that is not finished; with it there the directory is not used. */
export const restoring = (dataDir: string): string => join(dataDir, ".restore")
