import { Either, Option, Schema } from "effect"
import type { HarnessDiff, HarnessEvent, Tool, Usage } from "../HarnessEvent.js"
import type { Scrubber } from "../Secrets.js"
import { MessageChunk, type PromptResult, SessionUpdate, ToolCall, ToolContent, UsageUpdate } from "./AcpSchema.js"
import type { AcpSettings } from "./AcpSettings.js"

const diagnosticLength = 8 * 1024
const outputLength = 256 * 1024

/** Updates that are no part of the turn's work. */
const housekeeping = new Set([
  "available_commands_update",
  "config_option_update",
  "current_mode_update",
  "session_info_update",
  "user_message_chunk"
])

const toolStates: Readonly<Record<string, Tool["state"]>> = {
  pending: "pending",
  in_progress: "running",
  completed: "done",
  failed: "failed"
}

const decodeUpdate = Schema.decodeUnknownOption(SessionUpdate)
const decodeChunk = Schema.decodeUnknownOption(MessageChunk)
const decodeTool = Schema.decodeUnknownOption(ToolCall)
const decodeUsage = Schema.decodeUnknownOption(UsageUpdate)
const decodeContent = Schema.decodeUnknownEither(ToolContent)

export const diagnostic = (kind: "unparsed" | "unknown_update" | "unknown_message", line: string): HarnessEvent => ({
  _tag: "diagnostic",
  kind,
  line: line.slice(0, diagnosticLength)
})

const valueAt = (value: unknown, path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null && key in at ? Reflect.get(at, key) : undefined),
    value
  )

const rawOutputText = (rawOutput: unknown): string | undefined => {
  if (typeof rawOutput === "string") return rawOutput
  const output = valueAt(rawOutput, ["output"])
  return typeof output === "string" ? output : undefined
}

/** The files and the words in a tool's content. */
const readContent = (
  content: ReadonlyArray<unknown>
): { readonly diffs: Array<HarnessDiff>; readonly text: string | undefined } => {
  const diffs: Array<HarnessDiff> = []
  const texts: Array<string> = []
  for (const item of content.flatMap((each) =>
    Either.match(decodeContent(each), { onLeft: () => [], onRight: (known) => [known] })
  )) {
    if (item.type === "diff") diffs.push({ path: item.path, old_text: item.oldText ?? null, new_text: item.newText })
    else texts.push(item.content.text)
  }
  return { diffs, text: texts.length === 0 ? undefined : texts.join("\n") }
}

/** The tool call after a further message about it. Fields that the message leaves out stay as they were. */
const merge = (before: Tool | undefined, call: ToolCall): Tool => {
  const content = readContent(call.content ?? [])
  const more = call._meta?.terminal_output_delta?.data
  const output =
    content.text ??
    rawOutputText(call.rawOutput) ??
    (more === undefined ? before?.output_text : (before?.output_text ?? "") + more)
  return {
    _tag: "tool",
    tool_id: call.toolCallId,
    kind: call.kind ?? before?.kind ?? "other",
    title: call.title ?? before?.title ?? call.kind ?? "tool",
    input: call.rawInput ?? before?.input ?? null,
    state: toolStates[call.status ?? ""] ?? before?.state ?? "pending",
    ...(output === undefined ? {} : { output_text: output.slice(-outputLength) }),
    diffs: content.diffs.length > 0 ? content.diffs : (before?.diffs ?? [])
  }
}

const isOpen = (tool: Tool): boolean => tool.state === "pending" || tool.state === "running"

interface Words {
  readonly tag: "text" | "reasoning"
  readonly key: string
  /** The end of the words so far, held back because it may be the beginning of a secret. */
  readonly held: string
}

/** Turns the updates of one turn into events. It keeps what later updates need and decides nothing. */
export interface Transcript {
  readonly update: (params: unknown, line: string) => ReadonlyArray<HarnessEvent>
  readonly tool: (call: unknown) => ReadonlyArray<HarnessEvent>
  /** Notes that the agent was refused what it asked for. Only later words and tools count as its output. */
  readonly refuse: () => void
  readonly usage: (result: PromptResult) => ReadonlyArray<Usage>
  /** The words that were held back, and the open tools as aborted. */
  readonly finish: () => ReadonlyArray<HarnessEvent>
  readonly hasOpenTool: () => boolean
  /** True once the agent has said something or finished a tool since its last refusal. */
  readonly hasOutput: () => boolean
  /** True when the agent was refused something and has had no output since. */
  readonly wasRefused: () => boolean
  /** The words after the mark of an agent that reports errors as words. Empty without a mark. */
  readonly errorText: () => string
}

/** The transcript of a turn in a native session. */
export const make = (sessionId: string, settings: AcpSettings, scrubber: Scrubber): Transcript =>
  new TurnTranscript(sessionId, settings, scrubber)

class TurnTranscript implements Transcript {
  private readonly tools = new Map<string, Tool>()
  private words: Words | undefined
  private part = 0
  private output = false
  private refused = false
  private error: string | undefined

  constructor(
    private readonly sessionId: string,
    private readonly settings: AcpSettings,
    private readonly scrubber: Scrubber
  ) {}

  update(params: unknown, line: string): ReadonlyArray<HarnessEvent> {
    const decoded = Option.filter(decodeUpdate(params), (update) => update.sessionId === this.sessionId)
    if (Option.isNone(decoded)) return [diagnostic("unknown_update", line)]
    const { update } = decoded.value
    const mark = this.settings.error_as_text
    if (mark !== null && valueAt(update, mark.path) === mark.value) this.error ??= ""
    return Option.getOrElse(this.read(update.sessionUpdate, update), () => [diagnostic("unknown_update", line)])
  }

  tool(call: unknown): ReadonlyArray<HarnessEvent> {
    return Option.match(decodeTool(call), { onNone: () => [], onSome: (known) => this.upsert(known) })
  }

  refuse(): void {
    this.refused = true
    this.output = false
  }

  usage({ usage }: PromptResult): ReadonlyArray<Usage> {
    const { usage_scope: scope } = this.settings
    if (usage === null || usage === undefined || scope === "none") return []
    return [
      {
        _tag: "usage",
        scope,
        input_tokens: count(usage.inputTokens),
        output_tokens: count(usage.outputTokens),
        cached_tokens: count(usage.cachedReadTokens),
        reasoning_tokens: count(usage.thoughtTokens)
      }
    ]
  }

  finish(): ReadonlyArray<HarnessEvent> {
    const open = [...this.tools.values()].filter(isOpen)
    return [...this.flush(), ...open.map((tool): HarnessEvent => ({ ...tool, state: "aborted" }))]
  }

  hasOpenTool(): boolean {
    return [...this.tools.values()].some(isOpen)
  }

  hasOutput(): boolean {
    return this.output
  }

  wasRefused(): boolean {
    return this.refused && !this.output
  }

  errorText(): string {
    return (this.error ?? "").trim()
  }

  private read(kind: string, update: object): Option.Option<ReadonlyArray<HarnessEvent>> {
    switch (kind) {
      case "agent_message_chunk":
        return Option.map(decodeChunk(update), (chunk) => this.speak("text", chunk))
      case "agent_thought_chunk":
        return Option.map(decodeChunk(update), (chunk) => this.speak("reasoning", chunk))
      case "tool_call":
      case "tool_call_update":
        return Option.map(decodeTool(update), (call) => this.upsert(call))
      case "usage_update":
        return Option.map(decodeUsage(update), ({ cost, size, used }) => [contextUsage(used, size, cost)])
      default:
        return housekeeping.has(kind) ? Option.some([]) : Option.none()
    }
  }

  private speak(tag: Words["tag"], chunk: typeof MessageChunk.Type): ReadonlyArray<HarnessEvent> {
    if (this.error !== undefined) {
      this.error += chunk.content.text
      return []
    }
    const { words } = this
    const goesOn = words !== undefined && words.tag === tag && (chunk.messageId ?? words.key) === words.key
    const before = goesOn ? [] : this.flush()
    const key = chunk.messageId ?? this.words?.key ?? `${tag}-${this.part}`
    const text = this.scrubber.scrub((this.words?.held ?? "") + chunk.content.text)
    const held = this.scrubber.partialLength(text)
    this.words = { tag, key, held: text.slice(text.length - held) }
    if (tag === "text" && chunk.content.text.trim() !== "") this.output = true
    return [...before, ...say(tag, key, text.slice(0, text.length - held))]
  }

  private upsert(call: ToolCall): ReadonlyArray<HarnessEvent> {
    const tool = merge(this.tools.get(call.toolCallId), call)
    this.tools.set(tool.tool_id, tool)
    if (tool.state === "done") this.output = true
    return [...this.flush(), tool]
  }

  /** The words that were held back. Further words begin another part. */
  private flush(): ReadonlyArray<HarnessEvent> {
    const rest = this.words
    this.words = undefined
    this.part += 1
    return rest === undefined ? [] : say(rest.tag, rest.key, rest.held)
  }
}

const say = (tag: Words["tag"], key: string, text: string): ReadonlyArray<HarnessEvent> => {
  if (text === "") return []
  return [tag === "text" ? { _tag: "text", message_key: key, text } : { _tag: "reasoning", message_key: key, text }]
}

const count = (tokens: number | null | undefined): number | null =>
  tokens === null || tokens === undefined ? null : Math.round(tokens)

const contextUsage = (
  used: number,
  size: number,
  cost: { amount: number; currency: string } | null | undefined
): Usage => ({
  _tag: "usage",
  scope: "context",
  input_tokens: null,
  output_tokens: null,
  cached_tokens: null,
  reasoning_tokens: null,
  context_used: Math.round(used),
  context_size: Math.round(size),
  ...(cost === null || cost === undefined ? {} : { cost })
})
