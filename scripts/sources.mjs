// The modules of the packages that make the core: a room stands in one of them, and no two have a room of one name.
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"

export const repository = join(import.meta.dirname, "..")

/** The packages from the ground up. */
export const packages = ["base", "machine", "core"]

/** Each module: its package, its path below `src`, and its text. */
export const modules = packages.flatMap((name) => {
  const root = join(repository, "packages", name, "src")
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .map((path) => ({ package: name, path, text: readFileSync(join(root, path), "utf8") }))
})

/** The path below `src` of a module that another one names; undefined for what is none of these. */
export const pathOf = (from, name) => {
  if (name.startsWith(".")) return join(dirname(from), name).replace(/\.js$/, ".ts")
  const found = /^@reins\/(?:base|machine|core)\/(.+)$/.exec(name)
  return found === null ? undefined : `${found[1]}.ts`
}
