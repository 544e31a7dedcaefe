/** The first lines of `SKILL.md`, between two lines of three hyphens. */
const head = /^---\r?\n([\s\S]*?)\r?\n---(?:\r?\n|$)/

const valueOf = (lines: string, name: string): string | undefined => {
  const [, value] = new RegExp(`^${name}:[ \\t]*(.*)$`, "m").exec(lines) ?? []
  const text = value?.trim()
  if (text === undefined || text === "") return undefined
  const [, quoted] = /^"((?:[^"\\]|\\.)*)"$/.exec(text) ?? /^'((?:[^']|'')*)'$/.exec(text) ?? []
  return quoted ?? text
}

/** The name and the description that a `SKILL.md` gives; undefined for what it does not give on one line. */
export const skillHead = (
  text: string
): { readonly name: string | undefined; readonly description: string | undefined } => {
  const [, lines = ""] = head.exec(text) ?? []
  return { name: valueOf(lines, "name"), description: valueOf(lines, "description") }
}
