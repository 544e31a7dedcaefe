import type { SubjectParts } from "@reins/base/base/SealSubject"
import type { SubjectGap } from "@reins/base/domain/ApprovalSubject"
import type { AskedCall } from "./AskedCall.js"
import type { SessionPathOf } from "./AskedFiles.js"

/** The sorts of call that the protocol knows. */
const kinds: Readonly<Record<string, SubjectParts["kind"]>> = {
  execute: "command",
  edit: "edit",
  delete: "edit",
  move: "edit",
  read: "read",
  search: "search",
  fetch: "fetch",
  other: "tool",
  switch_mode: "tool"
}

const pathNames = ["file_path", "filePath", "filepath", "path", "absolute_path", "notebook_path", "target_file"]

type Fields = ReadonlyMap<string, unknown>

/** The words of a call beside its edits: its command, its address or its tool, and all that its input says besides. */
export const callWords = (call: AskedCall, pathOf: SessionPathOf): SubjectParts => {
  const fields: Fields = new Map(isObject(call.input) ? Object.entries(call.input) : [])
  const command = commandIn(fields)
  const server = serverIn(fields)
  const kind = kindOf(call, fields, command !== undefined)
  const isFetch = kind === "fetch"
  const taken = new Set([
    ...(command === undefined ? [] : [command.name, "cwd", "workdir"]),
    ...(isFetch ? ["url"] : []),
    ...(server === undefined ? [] : ["server", "tool"])
  ])
  const url = isFetch ? textIn(fields, ["url"]) : undefined
  const words = {
    kind,
    command: command?.text ?? null,
    cwd: command === undefined ? null : shownPath(textIn(fields, ["cwd", "workdir"]), pathOf),
    url: url ?? null,
    tool: kind === "tool" ? (server ?? call.title) : null,
    // The edits say the same.
    input: call.diffs.length > 0 ? null : restOf(call, fields, taken, pathOf)
  }
  return { ...words, gaps: gapsOf(call, words, fields, pathOf) }
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const kindOf = ({ diffs, kind, title }: AskedCall, fields: Fields, hasCommand: boolean): SubjectParts["kind"] => {
  if (diffs.length > 0) return "edit"
  if (typeof fields.get("subagent_type") === "string") return "delegate"
  const known = kinds[kind] ?? "unknown"
  if (known === "command" && !hasCommand && serverIn(fields) !== undefined) return "tool"
  return known === "tool" && title.trim() === "" ? "unknown" : known
}

/** The tool of a server, as agents tell it that take it for a command. */
const serverIn = (fields: Fields): string | undefined => {
  const [server, tool] = [fields.get("server"), fields.get("tool")]
  return typeof server === "string" && typeof tool === "string" ? `${server}: ${tool}` : undefined
}

const textIn = (fields: Fields, names: ReadonlyArray<string>): string | undefined =>
  names.map((name) => fields.get(name)).find((value): value is string => typeof value === "string" && value !== "")

const commandIn = (fields: Fields): { readonly name: string; readonly text: string } | undefined => {
  for (const name of ["command", "cmd", "commands"]) {
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

/** A word as a shell takes it for one. */
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

const shownPath = (path: string | undefined, pathOf: SessionPathOf): string | null =>
  path === undefined ? null : (pathOf(path) ?? path)

/** The input besides what is told already, as JSON. */
const restOf = (call: AskedCall, fields: Fields, taken: ReadonlySet<string>, pathOf: SessionPathOf): string | null => {
  if (call.input !== null && call.input !== undefined && !isObject(call.input)) return JSON.stringify(call.input)
  const rest = [...fields]
    .filter(([name]) => !taken.has(name))
    .map(([name, value]) => [
      name,
      typeof value === "string" && value.startsWith("/") ? shownPath(value, pathOf) : value
    ])
  if (rest.length > 0) return JSON.stringify(Object.fromEntries(rest))
  const places = call.locations.map(({ path }) => shownPath(path, pathOf))
  return fields.size === 0 && places.length > 0 ? JSON.stringify({ paths: places }) : null
}

/** The gaps of a call: the agent has not told all of it, or it wants to look outside of the files. */
const gapsOf = (
  call: AskedCall,
  words: SubjectParts,
  fields: Fields,
  pathOf: SessionPathOf
): ReadonlyArray<SubjectGap> => {
  const { command, input, kind, url } = words
  const isUntold =
    kind === "unknown" ||
    (kind === "command" && command === null) ||
    (kind === "fetch" && url === null) ||
    (kind === "edit" && call.diffs.length === 0) ||
    (["tool", "read", "search", "delegate"].includes(kind) && fields.size === 0 && input === null)
  const looksAt =
    kind === "read" || kind === "search" ? [...pathsIn(fields), ...call.locations.map(({ path }) => path)] : []
  const isOutside = looksAt.some((path) => pathOf(path) === undefined)
  return [...(isUntold ? (["unknown"] as const) : []), ...(isOutside ? (["outside"] as const) : [])]
}

const pathsIn = (fields: Fields): ReadonlyArray<string> =>
  pathNames.map((name) => fields.get(name)).filter((value): value is string => typeof value === "string")
