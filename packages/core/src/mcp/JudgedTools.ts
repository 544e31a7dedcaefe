import type { ProjectServer } from "../projects/ProjectServer.js"
import { type PinnedTool, pinOf } from "../projects/ToolPins.js"
import type { ListedTool, ToolList } from "./ForeignTools.js"

/** The longest description and schema of a tool, in characters. */
const maxDescription = 10_000
const maxSchema = 64 * 1024

/**
 * - `offered`: agents are offered the tool.
 * - `changed`: its description or schema has another digest than its pin.
 * - `missing`: the server does not list it.
 * - `refused`: the server lists it in a way that cannot be offered. The reason says why.
 */
export type ToolStanding = "offered" | "changed" | "missing" | "refused"

/** An allowed tool, as it stands against what its server lists. */
export interface JudgedTool {
  readonly name: string
  readonly standing: ToolStanding
  /** A sentence that says why it is refused; null for one that is not. */
  readonly reason: string | null
  /** The tool as it is listed; undefined for one that is missing or refused. */
  readonly tool: ListedTool | undefined
  /** The digest of what is listed; null where nothing is that could be pinned. */
  readonly digest: string | null
}

const refusalOf = ({ description, input_schema }: ListedTool): string | undefined => {
  if (description.length > maxDescription)
    return `Its description has ${description.length} characters, and at most ${maxDescription} are offered.`
  const { length } = JSON.stringify(input_schema)
  return length > maxSchema ? `Its schema has ${length} characters, and at most ${maxSchema} are offered.` : undefined
}

/** The own value of a name. Names of tools may be those that every object has, as `constructor`. */
export const ownOf = <A>(record: Readonly<Record<string, A>> | undefined, name: string): A | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined

/** Holds the tools that a server lists against its spec and its pins. A pin of the spec comes before one of the first look. */
export const judgeTools = (
  { allow, pins }: Pick<ProjectServer, "allow" | "pins">,
  pinned: ReadonlyMap<string, PinnedTool>,
  { odd, tools }: Pick<ToolList, "odd" | "tools">
): ReadonlyArray<JudgedTool> =>
  allow.map((name) => {
    const none = { name, reason: null, tool: undefined, digest: null }
    const strange = odd.find((each) => each.name === name)
    if (strange !== undefined) return { ...none, standing: "refused", reason: strange.reason }
    const tool = tools.find((each) => each.name === name)
    if (tool === undefined) return { ...none, standing: "missing" }
    const reason = refusalOf(tool)
    if (reason !== undefined) return { ...none, standing: "refused", reason }
    const digest = pinOf(tool)
    const known = pinned.get(name)
    const pin = ownOf(pins, name) ?? (known && pinOf(known))
    return { name, reason: null, standing: pin === undefined || pin === digest ? "offered" : "changed", tool, digest }
  })
