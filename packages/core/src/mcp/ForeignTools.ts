import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { type OddElement, readEach } from "@reins/base/base/ForeignList"
import { adorns, foreignName } from "@reins/base/base/ForeignText"
import { Schema } from "effect"
import { isRecord } from "./ForeignMessage.js"
import { ServerUnusable } from "./GuardedFetch.js"

// The border for the tools that servers list. They are read one by one.

/** The longest name that the protocol has for a tool, in characters. */
const longestName = 128

/** The most levels of a schema. Programs that read it go as deep as it does. */
const deepest = 64

/** The most characters of a reason that are words of a server. */
const longestReason = 200

/** A tool as its server lists it. */
export interface ListedTool {
  readonly name: string
  readonly description: string
  readonly input_schema: Readonly<Record<string, unknown>>
  readonly is_read_only: boolean
}

/** A tool of a list that cannot be offered, with the reason in a sentence. */
export interface OddTool {
  readonly name: string
  readonly reason: string
}

/** The tools of a list. */
export interface ToolList {
  readonly tools: ReadonlyArray<ListedTool>
  readonly odd: ReadonlyArray<OddTool>
  /** The number of elements that the server lists. */
  readonly listed: number
}

/** A page of a list of tools. */
export interface ToolPage {
  readonly elements: ReadonlyArray<unknown>
  /** The place of the next page; undefined for the last one. */
  readonly next: string | undefined
}

/** Reads a page. A cursor that is empty or null is that of no page. */
export const readPage = (raw: unknown): ToolPage => {
  if (!isRecord(raw) || !Array.isArray(raw["tools"]))
    throw new ServerUnusable('The server answers with no list of tools: the field "tools" is no list.', true)
  const { nextCursor, tools } = raw
  if (nextCursor !== undefined && nextCursor !== null && typeof nextCursor !== "string")
    throw new ServerUnusable(
      'The server names no next page that can be asked for: the field "nextCursor" is no text.',
      true
    )
  return { elements: tools, next: nextCursor || undefined }
}

/** An object whose type, where it has one, is that of objects. */
const InputSchema = Schema.Unknown.pipe(
  Schema.filter((given) => {
    if (given === undefined || given === null) return undefined
    if (!isRecord(given)) return "no object"
    const { type } = given
    const isObject = type === undefined || type === null || [type].flat().includes("object")
    return isObject ? undefined : { path: ["type"], message: "not the type of objects" }
  })
)

const ToolForm = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(longestName)),
  description: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null }),
  inputSchema: Schema.optionalWith(InputSchema, { default: () => null }),
  annotations: adorns(Schema.Struct({ readOnlyHint: Schema.Boolean }))
})

const readForms = readEach(ToolForm)

/** True for a value of more levels. It goes level by level, because a value may be deeper than calls can go. */
const isDeeper = (value: unknown, most: number): boolean => {
  let level: ReadonlyArray<unknown> = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []))
  }
  return false
}

/** The schema without what says nothing: its dialect, and null where the server leaves something out. */
const toSchema = (given: unknown): ListedTool["input_schema"] => {
  const { $schema: _, ...schema } = isRecord(given) ? given : {}
  const told = Object.entries(schema).filter(([name, value]) => value !== null || !leftOut.has(name))
  return Object.fromEntries(typeof schema["type"] === "string" ? told : [["type", "object"], ...told.filter(notType)])
}

const leftOut = new Set(["type", "properties", "required", "description", "title", "additionalProperties", "$defs"])

const notType = ([name]: readonly [string, unknown]): boolean => name !== "type"

/** Characters of a description that models read and people do not see: control characters, turned text and tags. Line ends stay. */
const unseen = /(?![\t\n\r])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu

const toListed = ({ annotations, description, inputSchema, name }: typeof ToolForm.Type): ListedTool => ({
  name,
  description: (description ?? "").replace(unseen, ""),
  input_schema: toSchema(inputSchema),
  is_read_only: annotations?.readOnlyHint === true
})

const oddOf = ({ field, name }: OddElement): ReadonlyArray<OddTool> =>
  name === null
    ? []
    : [
        {
          name,
          reason: `Its field ${JSON.stringify(foreignName(field, longestReason))} is not as the protocol has it.`
        }
      ]

/** Reads the elements of all pages. A tool that is listed twice has to be the same one twice, because a call names nothing but the name. */
export const readTools = (elements: ReadonlyArray<unknown>): ToolList => {
  const { items, odd } = readForms(elements)
  const found = new Map<string, ListedTool>()
  const oddTools = new Map(odd.flatMap(oddOf).map((tool) => [tool.name, tool]))
  const refuse = (name: string, reason: string) => oddTools.set(name, { name, reason })
  for (const form of items) {
    if (isDeeper(form.inputSchema, deepest)) {
      refuse(form.name, `Its schema has more than ${deepest} levels.`)
      continue
    }
    const tool = toListed(form)
    const before = found.get(tool.name)
    if (before !== undefined && canonicalJson(before) !== canonicalJson(tool))
      refuse(tool.name, "The server lists two different tools of this name.")
    found.set(tool.name, tool)
  }
  return {
    tools: [...found.values()].filter(({ name }) => !oddTools.has(name)),
    odd: [...oddTools.values()],
    listed: elements.length
  }
}
