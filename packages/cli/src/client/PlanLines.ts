import { harmless, type Style } from "../terminal/Style.js"

/** A step of a plan. */
interface Step {
  readonly content: string
  readonly status: string
}

/** The words are those of agents, which may have others. */
const marks: ReadonlyMap<string, readonly [mark: string, style: Style | undefined]> = new Map([
  ["completed", ["[x]", "green"]],
  ["in_progress", ["[>]", "cyan"]],
  ["cancelled", ["[-]", "dim"]]
])

/** The steps in the input of a tool with which an agent keeps its plan, without those that are none. Undefined for the input of another tool. */
export const stepsIn = (input: unknown): ReadonlyArray<Step> | undefined => {
  if (typeof input !== "object" || input === null) return undefined
  const { plan, todos }: Readonly<Record<string, unknown>> = { ...input }
  const listed = Array.isArray(todos) ? todos : plan
  if (!Array.isArray(listed) || listed.length === 0) return undefined
  const steps = listed.flatMap((each: unknown) => {
    if (typeof each !== "object" || each === null) return []
    const { content, status, step }: Readonly<Record<string, unknown>> = { ...each }
    const said = content ?? step
    return typeof said === "string" && typeof status === "string" ? [{ content: said, status }] : []
  })
  return steps.length === 0 ? undefined : steps
}

/** The plan of an agent in lines. It is shown whole when its steps are others, and then each step whose state has changed. */
export class PlanLines {
  private steps: ReadonlyArray<Step> = []
  private words = ""

  constructor(private readonly paint: (style: Style, text: string) => string) {}

  /** The lines that tell what has changed; empty where nothing has. */
  readonly take = (steps: ReadonlyArray<Step>, words = ""): ReadonlyArray<string> => {
    const isSame =
      words === this.words &&
      steps.length === this.steps.length &&
      steps.every(({ content }, at) => content === this.steps[at]?.content)
    const shown = isSame ? steps.filter(({ status }, at) => status !== this.steps[at]?.status) : steps
    const told = isSame || words === "" ? [] : [harmless(words)]
    this.steps = steps
    this.words = words
    const lines = [...told, ...shown.map(this.line)]
    return lines.length === 0 ? [] : [this.paint("bold", "Plan"), ...lines]
  }

  private readonly line = ({ content, status }: Step): string => {
    const [mark, style] = marks.get(status) ?? ["[ ]", undefined]
    const text = `${mark} ${harmless(content.replaceAll(/\s+/g, " "))}`
    return `  ${style === undefined ? text : this.paint(style, text)}`
  }
}
