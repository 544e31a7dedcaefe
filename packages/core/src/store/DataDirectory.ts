import { join } from "node:path"

/** The SQLite database of an installation. */
export const databaseFile = (dataDir: string): string => join(dataDir, "reins.db")

/** The lock file of the server that works on the directory. */
export const serverLock = (dataDir: string): string => join(dataDir, "server.lock")

/** The place of a restore that is not finished. While it is there no server uses the directory. */
export const restoring = (dataDir: string): string => join(dataDir, ".restore")
