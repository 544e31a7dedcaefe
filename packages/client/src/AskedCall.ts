import type { Interaction } from "./generated/Resources.js"
import { nothingTold, subjectText } from "./SubjectText.js"
import { escapeUnseen } from "./UnseenCharacters.js"

/** A change of a file, as the input of a call tells it. */
export interface AskedEdit {
  /** The path of the file, as the agent names it. */
  readonly path: string
  /** Null for a new file, or where the text before is not known. */
  readonly before: string | null
  /** The text that is to stand there. */
  readonly after: string
  /** The number of the first line of both texts, where they are a part of the file. */
  readonly firstLine: number
}

/** The input of a call in the words of the thing. Its texts are as the agent has sent them. */
export interface AskedCall {
  /** The command that would run; undefined for a call of another kind. */
  readonly command: string | undefined
  /** The changes that it would make to files. */
  readonly edits: ReadonlyArray<AskedEdit>
  /** Everything else, by the names that the agent gives it. */
  readonly values: ReadonlyArray<{ readonly name: string; readonly text: string }>
}

const commandNames = ["command", "cmd", "script", "commands"]
const pathNames = [
  "file_path",
  "filePath",
  "filepath",
  "path",
  "absolute_path",
  "notebook_path",
  "target_file",
  "fileName"
]
const beforeNames = ["old_string", "oldString", "old_str", "old_text", "before"]
const afterNames = ["new_string", "newString", "new_str", "new_text", "after", "content", "contents", "file_text"]
/** The service adds the edits of a call to its input. Agents tell the same in these fields. */
const repeatingNames = ["diff", "changes"]

/** The input of a call, or of the description of an approval. */
export const askedCall = (input: unknown): AskedCall => {
  if (typeof input !== "object" || input === null) return { command: undefined, edits: [], values: [] }
  const fields = new Map<string, unknown>(Object.entries(input))
  const command = commandIn(fields)
  const { edits, names } = editsIn(fields)
  const said = new Set([command?.name, ...names])
  const values = [...fields]
    .filter(([name, value]) => !said.has(name) && value !== null && value !== "")
    .map(([name, value]) => ({ name, text: typeof value === "string" ? value : JSON.stringify(value, null, 2) }))
  return { command: command?.text, edits, values }
}

const commandIn = (fields: ReadonlyMap<string, unknown>) => {
  for (const name of commandNames) {
    const value = fields.get(name)
    if (typeof value === "string" && value.trim() !== "") return { name, text: value }
    if (!Array.isArray(value) || value.length === 0 || !value.every((each) => typeof each === "string")) continue
    return { name, text: name === "commands" ? value.join("\n") : commandOf(value) }
  }
  return undefined
}

/** Agents wrap a command in a shell: `["bash", "-lc", "npm test"]` is `npm test`. */
const commandOf = (words: ReadonlyArray<string>): string => {
  const [shell = "", flag = "", command = ""] = words
  const isShell = /(?:^|\/)(?:ba|z|da)?sh$/.test(shell) && /^-\w*c$/.test(flag)
  return isShell && words.length === 3 ? command : words.map(quoted).join(" ")
}

/** A word as a shell takes it for one, so that nobody reads two words in it. */
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

interface Edits {
  readonly edits: ReadonlyArray<AskedEdit>
  /** The names of the fields that the edits have all of. */
  readonly names: ReadonlyArray<string>
}

const editsIn = (fields: ReadonlyMap<string, unknown>): Edits => {
  const nameOf = (names: ReadonlyArray<string>) => names.find((name) => typeof fields.get(name) === "string")
  const textAt = (name: string | undefined) => (name === undefined ? "" : String(fields.get(name)))
  const path = nameOf(pathNames)
  const several = fields.get("edits")
  if (Array.isArray(several)) return severalIn(several, path === undefined ? {} : { path: textAt(path) }, path)
  const after = nameOf(afterNames)
  if (path === undefined || textAt(path) === "" || after === undefined) return { edits: [], names: [] }
  const before = nameOf(beforeNames)
  const line = fields.get("first_line")
  const edit: AskedEdit = {
    path: textAt(path),
    before: before === undefined ? null : textAt(before),
    after: textAt(after),
    firstLine: typeof line === "number" ? line : 1
  }
  const names = [
    path,
    after,
    ...(before === undefined ? [] : [before]),
    ...(typeof line === "number" ? ["first_line"] : [])
  ]
  return { edits: [edit], names }
}

/** A list of edits, which has all of them only where each can be read and says nothing else. */
const severalIn = (several: ReadonlyArray<unknown>, of: object, path: string | undefined): Edits => {
  const read = several.map((each) => {
    if (typeof each !== "object" || each === null) return undefined
    const fields = new Map<string, unknown>(Object.entries(each))
    const found = editsIn(new Map<string, unknown>(Object.entries({ ...of, ...each })))
    const isWhole = found.edits.length === 1 && [...fields.keys()].every((name) => found.names.includes(name))
    return { ...found, isWhole, isOurs: fields.has("path") && fields.has("old_text") && fields.has("new_text") }
  })
  const edits = read.flatMap((each) => each?.edits ?? [])
  const isWhole = edits.length > 0 && read.every((each) => each?.isWhole === true)
  const isOurs = isWhole && read.every((each) => each?.isOurs === true)
  const isPathSaid = path !== undefined && edits.some((edit) => "path" in of && edit.path === of.path)
  return {
    edits,
    names: [...(isWhole ? ["edits"] : []), ...(isPathSaid ? [path] : []), ...(isOurs ? repeatingNames : [])]
  }
}

/** The input that a description holds as JSON; undefined for words. */
export const inputOfDescription = (description: string): unknown => {
  try {
    const value: unknown = JSON.parse(description)
    return typeof value === "object" && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * The request of an agent beyond its title, as lines for a reader without a page. It has the command, the lines of an edit, and every other value by its
 * name. It is empty for a question that its title says in full. Characters that hide something are escaped.
 */
export const askedText = ({
  description,
  kind,
  subject = null
}: Pick<Interaction, "description" | "kind"> & Partial<Pick<Interaction, "subject">>): string => {
  if (subject !== null) return subjectText(subject)
  if (description === null) return kind === "approval" ? nothingTold : ""
  const input = inputOfDescription(description)
  if (input === undefined) return escapeUnseen(description)
  const { command, edits, values } = askedCall(input)
  const lines = [
    ...(command === undefined ? [] : [`$ ${command.replaceAll("\n", "\n  ")}`]),
    ...edits.flatMap(linesOfEdit),
    ...values.map(({ name, text }) => `${name}: ${text.replaceAll("\n", "\n  ")}`)
  ]
  return escapeUnseen(lines.length === 0 ? description : lines.join("\n"))
}

/** The lines around a change that are shown with it. */
const context = 3

const linesOfEdit = ({ after, before, firstLine, path }: AskedEdit): ReadonlyArray<string> => {
  const now = linesOf(after)
  if (before === null || before === "") return [`New text of ${path}:`, ...now.map((line) => `+ ${line}`)]
  const old = linesOf(before)
  const least = Math.min(old.length, now.length)
  let same = 0
  while (same < least && old[same] === now[same]) same += 1
  let end = 0
  while (end < least - same && old.at(-1 - end) === now.at(-1 - end)) end += 1
  const from = Math.max(0, same - context)
  const line = firstLine + from
  return [
    `Change of ${path}${line === 1 ? "" : ` from line ${line} on`}:`,
    ...old.slice(from, same).map((each) => `  ${each}`),
    ...old.slice(same, old.length - end).map((each) => `- ${each}`),
    ...now.slice(same, now.length - end).map((each) => `+ ${each}`),
    ...old.slice(old.length - end, old.length - end + context).map((each) => `  ${each}`)
  ]
}

const linesOf = (text: string): ReadonlyArray<string> => text.replace(/\n$/, "").split("\n")
