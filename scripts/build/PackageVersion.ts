import { readFileSync } from "node:fs"

/** The files by which the packages tell their version. */
export const versionFile = /\/packages\/(?:core|server)\/package\.json$/

/** The name and the version of a package.json, the rest of which is not for a program. */
export const ofVersion = (path: string, versionOf = (version: string): string => version): string => {
  const { name, version } = JSON.parse(readFileSync(path, "utf8"))
  return JSON.stringify({ name, version: versionOf(version) })
}
