import { join } from "node:path"

/** The SQLite database of an installation. */
export const databaseFile = (dataDir: string): string => join(dataDir, "reins.db")

/** The lock file of the server that works on the directory. */
export const serverLock = (dataDir: string): string => join(dataDir, "server.lock")

/** The files with what was decided and seen of agents on this machine, which have no place in the database: the optional providers, and evidence. */
export const settingsFiles = { harnesses: "harnesses.json", evidence: "evidence.json" } as const

/** The place of a restore that is not finished. While it is there no server uses the directory. */
export const restoreMarker = (dataDir: string): string => join(dataDir, ".restore")
