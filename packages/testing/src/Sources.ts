import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const packages = join(import.meta.dirname, "../..")

/** The packages whose rooms make the core, from the ground up. */
export const packagesOfCore: ReadonlyArray<string> = ["base", "machine", "core"]

/** A module of a package. */
export interface Source {
  /** Its path below the folder of the packages. */
  readonly name: string
  /** Its path below `src`, which begins with its room. */
  readonly path: string
  readonly text: string
}

/** All modules of packages, as they are written. Those that a program makes are left out. */
export const sourcesOf = (names: ReadonlyArray<string>): ReadonlyArray<Source> =>
  names.flatMap((name) =>
    readdirSync(join(packages, name, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => /\.tsx?$/.test(path) && !path.startsWith("generated"))
      .map((path) => ({
        name: `${name}/src/${path}`,
        path,
        text: readFileSync(join(packages, name, "src", path), "utf8")
      }))
  )
