import { randomUUID } from "node:crypto"
import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { isObjectId } from "../run/GitCommand.js"
import { type GitError, onDisk } from "../run/GitError.js"

// Keeps the SHA-256 of changed contents beside their ids, so that a capture reads no object again that an earlier one has stored.

/** Digests `sha256:<hex>` of contents by the ids of their blobs. */
export type Digests = ReadonlyMap<string, string>

const file = (gitDir: string): string => join(gitDir, "reins-digests")

const isEntry = (entry: unknown): entry is readonly [string, string] =>
  Array.isArray(entry) &&
  typeof entry[0] === "string" &&
  isObjectId(entry[0]) &&
  typeof entry[1] === "string" &&
  /^sha256:[0-9a-f]{64}$/.test(entry[1])

const parse = (text: string): Digests => {
  try {
    const entries: unknown = JSON.parse(text)
    return Array.isArray(entries) && entries.every(isEntry) ? new Map(entries) : new Map()
  } catch {
    return new Map()
  }
}

/** The digests that a trusted git directory keeps. A record that cannot be read is as none. */
export const readDigests = (gitDir: string): Effect.Effect<Digests> =>
  Effect.promise(() => fs.readFile(file(gitDir), "utf8").then(parse, () => new Map()))

/** Keeps these digests, and no others. */
export const writeDigests = (gitDir: string, digests: Digests): Effect.Effect<void, GitError> =>
  onDisk("The digests of contents could not be kept", async () => {
    const aside = `${file(gitDir)}-${randomUUID()}`
    await fs.writeFile(aside, JSON.stringify([...digests]))
    await fs.rename(aside, file(gitDir))
  })
