/** True when a path fits a pattern: `*` stands for a part of a name, `**` for any folders and names. */
export const fitsPattern = (path: string, pattern: string): boolean => patternOf(pattern).test(path)

const patternOf = (pattern: string): RegExp => {
  const parts = pattern
    .replace(/^\/+/, "")
    .split(/(\*\*\/|\*\*|\*)/)
    .map((part) => wild[part] ?? part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"))
  return new RegExp(`^${parts.join("")}$`, "s")
}

const wild: Readonly<Record<string, string>> = { "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*" }
