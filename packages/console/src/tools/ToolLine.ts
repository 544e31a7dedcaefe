import { askedCall, escapeUnseen } from "@reins/client"

/** The sorts of tool that people know. */
export type ToolSort = "command" | "edit" | "read" | "search" | "fetch" | "delegate" | "other"

/** A tool call in the words of the thing. */
export interface ToolLine {
  readonly sort: ToolSort
  /** A verb, as in `Run`. */
  readonly verb: string
  /** The command, the file or the address; empty for none. */
  readonly subject: string
}

/** A change of a file. */
export interface Edit {
  readonly path: string
  /** Null for a new file, or where the text before is not known. */
  readonly before: string | null
  /** Null for a file that is deleted. */
  readonly after: string | null
  /** The number of the first line; null where the place is not known, and absent where nobody tells it. */
  readonly line?: number | null
}

/** A tool call, as far as it is told here. */
export interface Told {
  readonly kind: string
  readonly title: string
  readonly input: unknown
}

const textOf = (input: unknown, names: ReadonlyArray<string>): string | undefined => {
  if (typeof input !== "object" || input === null) return undefined
  const fields = new Map<string, unknown>(Object.entries(input))
  for (const name of names) {
    const value = fields.get(name)
    if (typeof value === "string" && value.trim() !== "") return value
    if (Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "string"))
      return value.join(" ")
  }
  return undefined
}

const pathNames = ["file_path", "filePath", "path", "absolute_path", "notebook_path", "target_file"]

/** The command of a call; undefined for one that runs none. */
export const commandIn = (input: unknown): string | undefined => askedCall(input).command

/** The path inside of the working tree. Other paths stay as they are. */
export const shortPath = (path: string): string => path.replace(/^.*\/sess_[0-9a-z]+\/workspace\/?/, "") || "."

/** A text, as a command, without the place of the working tree in its paths. */
export const shortPaths = (text: string): string =>
  text
    .replace(/(?<![\w.@+-])(?:\/[\w.@+-]+)*\/sess_[0-9a-z]+\/workspace\//g, "")
    .replace(/(?<![\w.@+-])(?:\/[\w.@+-]+)*\/sess_[0-9a-z]+\/workspace(?![\w-])/g, ".")

const sortOf = ({ input, kind, title }: Told): ToolSort => {
  if (commandIn(input) !== undefined || kind === "execute") return "command"
  const words = `${kind} ${title}`.toLowerCase()
  if (/\b(?:task|agent|delegate)\b/.test(words)) return "delegate"
  if (/\b(?:edit|write|patch|create|delete|move|replace|multiedit)\w*/.test(words)) return "edit"
  if (/\b(?:search|grep|glob|find)\w*/.test(words)) return "search"
  if (/\b(?:fetch|web|browse|http)\w*/.test(words) || textOf(input, ["url"]) !== undefined) return "fetch"
  return /\b(?:read|view|list|ls|cat|open)\b/.test(words) ? "read" : "other"
}

const verbs: Readonly<Record<Exclude<ToolSort, "other">, string>> = {
  command: "Run",
  edit: "Edit",
  read: "Read",
  search: "Search",
  fetch: "Fetch",
  delegate: "Delegate"
}

const subjectNames: Readonly<Record<ToolSort, ReadonlyArray<string>>> = {
  command: [],
  edit: pathNames,
  read: pathNames,
  search: ["pattern", "query", "regex", ...pathNames],
  fetch: ["url", "query"],
  delegate: ["description", "prompt", "message"],
  other: [...pathNames, "query", "url", "description"]
}

/** The tools of Reins itself, with a verb and the fields that say what each call is about. */
const ownTools: Readonly<
  Record<string, { readonly verb: string; readonly sort: ToolSort; readonly about: ReadonlyArray<string> }>
> = {
  apply_changeset: { verb: "Apply the changes", sort: "edit", about: [] },
  ask_user: { verb: "Ask", sort: "other", about: ["question", "title", "message"] },
  await_call: { verb: "Wait for the call", sort: "other", about: [] },
  cancel: { verb: "Cancel the delegation", sort: "delegate", about: [] },
  delegate: { verb: "Delegate", sort: "delegate", about: ["title", "message", "prompt"] },
  message: { verb: "Write to the delegated session", sort: "delegate", about: ["message", "content"] },
  publish_artifact: { verb: "Publish", sort: "other", about: ["title", "path"] },
  read_diff: { verb: "Read the changes", sort: "read", about: ["path"] },
  submit_result: { verb: "Give the result", sort: "other", about: [] },
  wait: { verb: "Wait for the delegated sessions", sort: "delegate", about: [] }
}

/** Agents put the name of the server of Reins before its tools and the functions of callers, each in its own way. */
const serverPrefix = /^(?:mcp__)?reins[_./: -]+(?=\w)/

/** The name of a tool of Reins. */
const ownName = (title: string): string | undefined => {
  if (!serverPrefix.test(title.trim())) return undefined
  const name = /^\w+/.exec(title.trim().replace(serverPrefix, ""))?.[0]
  return name !== undefined && Object.hasOwn(ownTools, name) ? name : undefined
}

/** The line of a call: its verb and its subject, which are said once, without characters that hide something. */
export const toolLine = (tool: Told): ToolLine => {
  const { sort, subject, verb } = lineOf(tool)
  return { sort, subject: escapeUnseen(subject), verb: escapeUnseen(verb) }
}

const lineOf = (tool: Told): ToolLine => {
  const own = ownTools[ownName(tool.title) ?? ""]
  if (own !== undefined) {
    const { about, sort, verb } = own
    return { sort, verb, subject: shortPaths((textOf(tool.input, about) ?? "").trim().split("\n")[0] ?? "") }
  }
  const sort = sortOf(tool)
  const found = commandIn(tool.input) ?? textOf(tool.input, subjectNames[sort])
  const title = shortPaths(tool.title).trim()
  const words = found ?? (sort === "other" ? "" : title)
  const first = shortPaths(words.trim().split("\n")[0] ?? "")
  const isPath = found !== undefined && found === textOf(tool.input, pathNames)
  const subject = isPath ? shortPath(first) : first
  const isNew = sort === "edit" && /^(?:write|create)/i.test(tool.title)
  const verb = sort === "other" ? title.replace(serverPrefix, "") || tool.kind : isNew ? "Write" : verbs[sort]
  return { sort, verb, subject: subject === verb || subject.toLowerCase() === verb.toLowerCase() ? "" : subject }
}

/** The changes of files that the input of a call tells. */
export const editsIn = (input: unknown): ReadonlyArray<Edit> =>
  askedCall(input).edits.map(({ after, before, path }) => ({ path: shortPath(path), before, after }))

/** An entry of a plan. */
export interface PlanEntry {
  readonly content: string
  readonly status: "pending" | "in_progress" | "completed"
}

/** The plan that a call writes down, as `todowrite` of OpenCode and `TodoWrite` of Claude Code do; undefined for other calls. */
export const planIn = (input: unknown): ReadonlyArray<PlanEntry> | undefined => {
  if (typeof input !== "object" || input === null) return undefined
  const fields = new Map<string, unknown>(Object.entries(input))
  const list = fields.get("todos") ?? fields.get("plan")
  if (!Array.isArray(list) || list.length === 0) return undefined
  const entries = list.flatMap((each): ReadonlyArray<PlanEntry> => {
    if (typeof each !== "object" || each === null) return []
    const content = textOf(each, ["content", "step", "title", "description", "text"])
    const status = textOf(each, ["status", "state"])
    if (content === undefined || status === undefined) return []
    const known = /complete|done/.test(status)
      ? "completed"
      : /progress|active/.test(status)
        ? "in_progress"
        : "pending"
    return [{ content, status: known }]
  })
  return entries.length === list.length ? entries : undefined
}
