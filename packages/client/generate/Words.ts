/** `session.created` and `mergeRequests` as `SessionCreated` and `MergeRequests`. */
export const pascal = (text: string): string =>
  text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("")

/** A comment in front of a declaration; nothing when there is nothing to say. */
export const comment = (paragraphs: ReadonlyArray<string | undefined>, indent = ""): string => {
  const said = paragraphs.filter((text) => text !== undefined && text.trim() !== "").map((text) => escaped(text ?? ""))
  if (said.length === 0) return ""
  const lines = said.flatMap((text, index) => [...(index === 0 ? [] : [""]), ...text.split("\n").flatMap(wrapped)])
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`
}

const escaped = (text: string): string => text.trim().replaceAll("*/", "*\\/")

/** In lines of at most 110 characters. What is indented is an example and stays as it is. */
const wrapped = (line: string): ReadonlyArray<string> => {
  if (line.length <= 110 || line.startsWith(" ")) return [line]
  const lines = [""]
  for (const word of line.split(" ")) {
    const last = lines.at(-1) ?? ""
    if (last !== "" && last.length + word.length >= 110) lines.push(word)
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`
  }
  return lines
}
