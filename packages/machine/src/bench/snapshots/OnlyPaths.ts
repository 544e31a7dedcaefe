import type { TreeOptions } from "../../files/TreeReader.js"

/** Leaves out of a tree what is neither one of the paths, nor above one, nor below one. `prefix` is the name of the root. */
export const onlyPaths = (prefix: string, paths: ReadonlySet<string>): NonNullable<TreeOptions["leaveOut"]> => {
  const above = new Set<string>()
  for (const path of paths)
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) above.add(path.slice(0, at))
  const isBelow = (path: string): boolean => {
    for (let at = path.length; at > 0; at = path.lastIndexOf("/", at - 1)) if (paths.has(path.slice(0, at))) return true
    return false
  }
  return (full) => {
    const path = full.slice(prefix.length + 1)
    return !above.has(path) && !isBelow(path)
  }
}
