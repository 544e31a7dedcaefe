import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"

const fileIn = (dataDir: string): string => join(dataDir, "disk-id")

/** The id of a data directory that a node has used; undefined for any other. */
export const knownDiskId = (dataDir: string): string | undefined =>
  existsSync(fileIn(dataDir)) ? readFileSync(fileIn(dataDir), "utf8").trim() : undefined

/**
 * The id of a data directory, which is made with it. A machine that comes back with an empty disk has another one, so that nobody looks for files
 * there that are gone.
 */
export const diskIdOf = (dataDir: string): Effect.Effect<string> =>
  Effect.sync(() => {
    const file = fileIn(dataDir)
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    const id = `disk_${randomBytes(12).toString("hex")}`
    try {
      writeFileSync(file, id, { flag: "wx", mode: 0o600 })
      return id
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
      return readFileSync(file, "utf8").trim()
    }
  })
