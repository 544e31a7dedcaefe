import { randomBytes } from "node:crypto"
import { join } from "node:path"

/** The directory of what setups have left: a directory for each key, and what is beside it. */
export const snapshotsIn = (dataDir: string): string => join(dataDir, "setups")

/** True for the name of a snapshot. */
export const isSnapshot = (name: string): boolean => /^[0-9a-f]{64}$/.test(name)

/** The spare copies of a snapshot. There are two, so that a session that begins right after another one waits for no copy either. */
export const sparesOf = (root: string, key: string): ReadonlyArray<string> =>
  ["spare", "second"].map((which) => join(root, `${which}-${key}`))

/** The snapshot whose spare copy has this name; undefined for any other name. */
export const spareFor = (name: string): string | undefined => /^(?:spare|second)-([0-9a-f]{64})$/.exec(name)?.[1]

/** The file in a snapshot that tells how many bytes it takes. */
export const sizeFile = "bytes"

/** Beginnings of names that belong to somebody who works on it right now: who makes it, takes it, or removes it. */
export const making = ".making-"
export const taken = ".taken-"
export const removing = ".removing-"

/** True for a name with such a beginning. */
export const isTemporary = (name: string): boolean => [making, taken, removing].some((each) => name.startsWith(each))

/** A new name with such a beginning. */
export const temporaryIn = (root: string, kind: string): string =>
  join(root, `${kind}${randomBytes(9).toString("hex")}`)
