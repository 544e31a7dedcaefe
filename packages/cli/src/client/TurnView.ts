import { shortened } from "@reins/base/base/CutText"
import { type EventPayload, type MessageDelta, type RepositoryFilter, ToolCalls, type TypedEvent } from "@reins/client"
import type { MarkdownLines } from "../terminal/MarkdownLines.js"
import { inSeconds, liveProgress, type Progress } from "../terminal/Progress.js"
import { harmless, harmlessLine, hasColors, painter } from "../terminal/Style.js"
import { PlanLines, stepsIn } from "./PlanLines.js"

/** Says what the agent sees of the files of a filter, since Reins runs none. */
export const filterNote = ({ filter, files }: RepositoryFilter): string => {
  const count = `${files.toLocaleString("en")} ${files === 1 ? "file" : "files"}`
  return filter === "lfs"
    ? `${count} of the repository ${files === 1 ? "is kept" : "are kept"} by Git LFS. The agent sees pointers, not contents.`
    : `${count} of the repository ${files === 1 ? "has" : "have"} the filter ${JSON.stringify(filter)}. The agent sees what is stored, because Reins runs no filter.`
}

/** Shows a turn as it goes: the agent's words as they are said, its tools and its plan. */
export class TurnView {
  private readonly paint = painter(process.stdout)
  private readonly busy: Progress = liveProgress()
  private readonly isLive = process.stdout.isTTY === true
  private readonly begun = new Map<string, number>()
  /** For each part: its known words, the number of its characters that the log has told, and the number that is shown. */
  private readonly said = new Map<string, string>()
  private readonly told = new Map<string, number>()
  private readonly shown = new Map<string, number>()
  private readonly tools = new ToolCalls()
  private part = ""
  private isAtLineStart = true
  private readonly plan = new PlanLines(this.paint)

  /** Words of the agent are shown by `markdown`, and as they come without it. */
  constructor(private readonly markdown?: MarkdownLines) {}

  /** Words before they are in the log. Those of a new part wait for it, since the log tells which tools came before. */
  readonly delta = ({ kind, message_id, offset, part_key, text }: MessageDelta): void => {
    const key = `${message_id} ${part_key}`
    this.hear(key, offset, text)
    if (this.told.has(key)) this.words(key, kind)
  }

  readonly event = (event: TypedEvent): void => {
    switch (event.type) {
      case "message.part_added":
      case "message.part_updated":
        this.partOf(event.payload)
        break
      case "tool.started":
      case "tool.updated": {
        const tool = this.tools.take(event)
        if (tool === undefined) break
        this.begun.set(tool.tool_id, this.begun.get(tool.tool_id) ?? performance.now())
        this.step(titleOf(tool))
        break
      }
      case "tool.completed":
        this.tools.take(event)
        this.tool(event.payload)
        this.step(waitsForModel)
        break
      case "plan.updated":
        this.showPlan(event.payload)
        break
      case "agent.notice_given":
        this.line(`${this.paint("yellow", "!")} ${oneLine(event.payload.title)}`)
        break
      case "agent.compaction_updated":
        if (event.payload.state === "running") this.wait("Making room in the context")
        break
      case "turn.queued":
        this.wait(oneLine(event.payload.turn.reason_message ?? "Waiting for its turn"))
        break
      case "workspace.restored":
        for (const filter of event.payload.filters ?? []) this.line(harmless(filterNote(filter)))
        break
      case "turn.preparing":
        this.wait("Preparing the working tree")
        break
      case "executor.allocating":
        this.wait("Cloning the repository")
        break
      case "setup.started":
      case "setup.progressed":
        this.wait("Running the setup")
        break
      case "executor.ready":
        this.wait("Starting the agent")
        break
      case "turn.started":
        this.wait(waitsForModel)
        break
      case "turn.succeeded":
      case "turn.failed":
      case "turn.cancelled":
      case "turn.interrupted":
        this.endLine()
        break
    }
  }

  /** A line of its own, as a person reads it. */
  readonly line = (text: string): void => {
    this.endLine()
    process.stdout.write(`${harmlessLine(text)}\n`)
  }

  /** Ends what is being written, so that others may write below it. */
  readonly endLine = (): void => {
    this.busy.clear()
    const left = this.markdown?.end() ?? ""
    if (left !== "") process.stdout.write(left)
    if (!this.isAtLineStart) process.stdout.write("\n")
    this.isAtLineStart = true
    this.part = ""
  }

  /** A step that begins below what was said. In a pipe the lines end where those of the agent end. */
  private step(what: string): void {
    if (this.isLive) this.endLine()
    this.wait(what)
  }

  readonly wait = (what: string): void => {
    // It would be written over words that are not at their end.
    if (this.isAtLineStart) this.busy.say(what)
  }

  private partOf({ message_id, part }: EventPayload<"message.part_added">): void {
    if (part.kind !== "text" && part.kind !== "reasoning") return
    const key = `${message_id} ${part.part_key}`
    const offset = part.mode === "append" ? (this.told.get(key) ?? 0) : 0
    this.told.set(key, offset + part.content.length)
    this.hear(key, offset, part.content)
    this.words(key, part.kind)
    if (part.sealed) this.step(waitsForModel)
  }

  /** Keeps words that go on from those that are known. Others follow words that were lost on the way, which the log brings. */
  private hear(key: string, offset: number, text: string): void {
    const known = this.said.get(key) ?? ""
    if (offset <= known.length && offset + text.length > known.length) this.said.set(key, known.slice(0, offset) + text)
  }

  /** Writes what is new of a part. */
  private words(key: string, kind: "text" | "reasoning"): void {
    // Without colours nobody could tell what the agent thinks from what it says.
    if (kind === "reasoning" && !hasColors(process.stdout)) return
    const shown = this.shown.get(key) ?? 0
    const added = (this.said.get(key) ?? "").slice(shown)
    if (added === "") return
    if (this.part !== key) this.endLine()
    this.shown.set(key, shown + added.length)
    this.part = key
    if (kind === "text" && this.markdown !== undefined) this.blocks(this.markdown, added)
    else this.raw(kind, added)
  }

  private raw(kind: "text" | "reasoning", added: string): void {
    this.busy.clear()
    const said = harmless(added)
    process.stdout.write(kind === "reasoning" ? this.paint("dim", said) : said)
    this.isAtLineStart = added.endsWith("\n")
  }

  /** Writes the blocks that are whole. A person sees that another one is on its way. */
  private blocks(markdown: MarkdownLines, added: string): void {
    const lines = markdown.take(added)
    if (lines !== "") {
      this.busy.clear()
      process.stdout.write(lines)
    }
    if (markdown.isWaiting) this.wait("Writing")
  }

  private tool(tool: EventPayload<"tool.completed">): void {
    const steps = tool.state === "done" ? stepsIn(tool.input) : undefined
    // The steps say more than the name of the tool that keeps them.
    if (steps !== undefined) this.lines(this.plan.take(steps))
    else this.toolLine(tool)
  }

  private toolLine(tool: EventPayload<"tool.completed">): void {
    const took = (performance.now() - (this.begun.get(tool.tool_id) ?? performance.now())) / 1000
    const time = this.isLive && took >= 1 ? ` ${this.paint("dim", inSeconds(took))}` : ""
    if (tool.state === "done") this.line(`${this.paint("green", "✓")} ${titleOf(tool)}${time}`)
    else this.line(`${this.paint("red", "✗")} ${titleOf(tool)} (${tool.state})${time}`)
  }

  private showPlan({ entries, removed, text }: EventPayload<"plan.updated">): void {
    if (!removed) this.lines(this.plan.take(entries, text ?? ""))
  }

  private lines(lines: ReadonlyArray<string>): void {
    if (lines.length > 0) this.line(lines.join("\n"))
  }
}

const waitsForModel = "Waiting for the model"

/** The tool in a line: what it is called, and what it is about where the name does not say so. */
const titleOf = ({ input, kind, title }: EventPayload<"tool.completed">): string => {
  const about = detailOf(input)
  const name = title === "" ? kind : title
  return oneLine(about === "" || name.includes(about) ? name : `${name}: ${about}`)
}

const detailOf = (input: unknown): string => {
  if (typeof input !== "object" || input === null) return ""
  const fields = new Map<string, unknown>(Object.entries(input))
  const found = ["command", "path", "filePath", "file_path", "pattern", "query", "url"]
    .map((name) => fields.get(name))
    .find((value) => typeof value === "string")
  return typeof found === "string" ? found : ""
}

const oneLine = (text: string): string => {
  return shortened(harmless(text.replaceAll(/\s+/g, " ").trim()), 100)
}
