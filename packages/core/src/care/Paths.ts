import { type CareRow, policyOf } from "./CareStore.js"

/** True when a path fits a pattern: `*` stands for a part of a name, `**` for any folders and names. */
export const fitsPattern = (path: string, pattern: string): boolean => patternOf(pattern).test(path)

/** True when one of the paths is only for a person to deliver. */
export const touchesProtected = (paths: ReadonlyArray<string>, row: CareRow): boolean =>
  paths.some((path) => policyOf(row).protected_paths.some((pattern) => fitsPattern(path, pattern)))

const patternOf = (pattern: string): RegExp => {
  const parts = pattern
    .replace(/^\/+/, "")
    .split(/(\*\*\/|\*\*|\*)/)
    .map((part) => wild[part] ?? part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"))
  return new RegExp(`^${parts.join("")}$`, "s")
}

const wild: Readonly<Record<string, string>> = { "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*" }
