import { join } from "node:path"

/** The directory of all object stores below a data directory. */
export const storesIn = (dataDir: string): string => join(dataDir, "object-stores")

/** True for the name of an object store. */
export const isStoreName = (name: string): boolean => /^[0-9a-f]{64}$/.test(name)
