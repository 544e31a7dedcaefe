import type { ProjectServer } from "../projects/ProjectServer.js"
import { type PinnedTool, pinOf } from "../projects/ToolPins.js"
import type { ListedTool } from "./ServerClient.js"

/** The longest description and schema of a tool, in characters. */
const maxDescription = 10_000
const maxSchema = 64 * 1024

/**
 * - `offered`: agents are offered the tool.
 * - `changed`: its description or schema has another digest than its pin.
 * - `missing`: the server does not list it.
 * - `refused`: its description or its schema is too long, or its input is no object.
 */
export type ToolStanding = "offered" | "changed" | "missing" | "refused"

/** An allowed tool, as it stands against what its server lists. */
export interface JudgedTool {
  readonly name: string
  readonly standing: ToolStanding
  /** The tool as it is listed; undefined for one that is missing or refused. */
  readonly tool: ListedTool | undefined
  /** The digest of what is listed; null where nothing is that could be pinned. */
  readonly digest: string | null
}

const isTaken = ({ description, input_schema }: ListedTool): boolean =>
  description.length <= maxDescription &&
  JSON.stringify(input_schema).length <= maxSchema &&
  (input_schema["type"] === undefined || input_schema["type"] === "object")

/** Holds the tools that a server lists against its spec and its pins. A pin of the spec comes before one of the first look. */
export const judgeTools = (
  { allow, pins = {} }: Pick<ProjectServer, "allow" | "pins">,
  pinned: ReadonlyMap<string, PinnedTool>,
  listed: ReadonlyArray<ListedTool>
): ReadonlyArray<JudgedTool> =>
  allow.map((name) => {
    const tool = listed.find((each) => each.name === name)
    if (tool === undefined) return { name, standing: "missing", tool, digest: null }
    if (!isTaken(tool)) return { name, standing: "refused", tool: undefined, digest: null }
    const digest = pinOf(tool)
    const known = pinned.get(name)
    const pin = pins[name] ?? (known && pinOf(known))
    return { name, standing: pin === undefined || pin === digest ? "offered" : "changed", tool, digest }
  })
