import { cutText } from "@reins/base/base/CutText"
import { Option, Schema } from "effect"
import type { Compaction, AgentPlan as ShownPlan } from "../AgentReport.js"
import type { HarnessEvent, HarnessUsage, Tool } from "../HarnessEvent.js"
import type { Scrubber } from "../Secrets.js"
import {
  CompactionChunk,
  CompactionUpdate,
  MessageChunk,
  Notice,
  Plan,
  PlanRemoved,
  PlanUpdate,
  type PromptResult,
  SessionNotification,
  ToolCall,
  UsageUpdate
} from "./AcpSchema.js"
import type { AcpSettings } from "./AcpSettings.js"
import type { AgentFacts } from "./AgentFacts.js"
import * as Content from "./Content.js"
import { heard } from "./Failures.js"
import * as ToolRecord from "./ToolRecord.js"
import { valueAt } from "./ValueAt.js"

const diagnosticLength = 8 * 1024
/** The longest start of the words that an agent's errors are looked for in. */
const errorLength = 16 * 1024
const summaryLength = 64 * 1024
const maxEntries = 500
const maxWords = 2000

const decodeUpdate = Schema.decodeUnknownOption(SessionNotification)
const decodeChunk = Schema.decodeUnknownOption(MessageChunk)
const decodeTool = Schema.decodeUnknownOption(ToolCall)
const decodeUsage = Schema.decodeUnknownOption(UsageUpdate)
const decodePlan = Schema.decodeUnknownOption(Plan)
const decodePlanUpdate = Schema.decodeUnknownOption(PlanUpdate)
const decodePlanRemoved = Schema.decodeUnknownOption(PlanRemoved)
const decodeNotice = Schema.decodeUnknownOption(Notice)
const decodeCompaction = Schema.decodeUnknownOption(CompactionUpdate)
const decodeCompactionChunk = Schema.decodeUnknownOption(CompactionChunk)

export const diagnostic = (kind: "unparsed" | "unknown_update" | "unknown_message", line: string): HarnessEvent => ({
  _tag: "diagnostic",
  kind,
  line: cutText(line, diagnosticLength)
})

interface Words {
  readonly tag: "text" | "reasoning"
  readonly key: string
  /** The end of the words so far, held back because it may be the beginning of a secret. */
  readonly held: string
}

/** Turns the updates of one turn into events. It keeps what later updates need and decides nothing. */
export interface Transcript {
  readonly update: (params: unknown, line: string) => ReadonlyArray<HarnessEvent>
  /** Takes the tool call of a permission request. */
  readonly tool: (call: unknown) => ReadonlyArray<HarnessEvent>
  /** A tool call as all messages so far have told it. */
  readonly known: (toolId: string) => Tool | undefined
  /** Notes that the agent was refused what it asked for. Only later words and tools count as its output. */
  readonly refuse: () => void
  readonly usage: (result: PromptResult) => ReadonlyArray<HarnessUsage>
  /** The words that were held back, and the open tools as aborted. A further prompt may follow. */
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
export const make = (sessionId: string, settings: AcpSettings, scrubber: Scrubber, facts: AgentFacts): Transcript =>
  new TurnTranscript(sessionId, settings, scrubber, facts)

class TurnTranscript implements Transcript {
  private readonly tools = new Map<string, Tool>()
  private words: Words | undefined
  private part = 0
  private output = false
  private refused = false
  private error: string | undefined
  /** The words since the last tool call. */
  private lastWords = ""
  private used: HarnessUsage | undefined
  private readonly compactions = new Map<string, Compaction>()

  constructor(
    private readonly sessionId: string,
    private readonly settings: AcpSettings,
    private readonly scrubber: Scrubber,
    private readonly facts: AgentFacts
  ) {}

  update(params: unknown, line: string): ReadonlyArray<HarnessEvent> {
    const decoded = Option.filter(decodeUpdate(params), (update) => update.sessionId === this.sessionId)
    if (Option.isNone(decoded)) return [diagnostic("unknown_update", line)]
    const { update } = decoded.value
    const mark = this.settings.error_as_text
    if (mark?.path !== undefined && valueAt(update, mark.path) === mark.value) this.error ??= ""
    return Option.getOrElse(this.read(update.sessionUpdate, update), () => [diagnostic("unknown_update", line)])
  }

  tool(call: unknown): ReadonlyArray<HarnessEvent> {
    return Option.match(decodeTool(call), {
      onNone: () => [],
      onSome: (known) => this.upsert(known, ToolRecord.mergeAsked)
    })
  }

  known(toolId: string): Tool | undefined {
    return this.tools.get(toolId)
  }

  refuse(): void {
    this.refused = true
    this.output = false
  }

  usage({ usage }: PromptResult): ReadonlyArray<HarnessUsage> {
    const { usage_scope: scope } = this.settings
    if (usage === null || usage === undefined || scope === "none") return []
    // Agents count for each prompt, and a turn may have several.
    const before = scope === "turn" ? this.used : undefined
    this.used = {
      _tag: "usage",
      scope,
      input_tokens: sum(before?.input_tokens, usage.inputTokens),
      output_tokens: sum(before?.output_tokens, usage.outputTokens),
      cached_tokens: sum(before?.cached_tokens, usage.cachedReadTokens),
      reasoning_tokens: sum(before?.reasoning_tokens, usage.thoughtTokens)
    }
    return [this.used]
  }

  finish(): ReadonlyArray<HarnessEvent> {
    const aborted = [...this.tools.values()]
      .filter(ToolRecord.isOpen)
      .map((tool): Tool => ({ ...tool, state: "aborted" }))
    for (const tool of aborted) this.tools.set(tool.tool_id, tool)
    return [...this.flush(), ...aborted]
  }

  hasOpenTool(): boolean {
    return [...this.tools.values()].some(ToolRecord.isOpen)
  }

  hasOutput(): boolean {
    return this.output
  }

  wasRefused(): boolean {
    return this.refused && !this.output
  }

  errorText(): string {
    const { error_as_text: mark } = this.settings
    if (this.error !== undefined || mark?.pattern === undefined) return (this.error ?? "").trim()
    const found = new RegExp(mark.pattern, "i").exec(heard(this.lastWords.trim()))
    return found === null ? "" : (found[1] ?? found[0])
  }

  private read(kind: string, update: object): Option.Option<ReadonlyArray<HarnessEvent>> {
    switch (kind) {
      case "agent_message_chunk":
        return Option.map(decodeChunk(update), (chunk) => this.say("text", chunk))
      case "agent_thought_chunk":
        return Option.map(decodeChunk(update), (chunk) => this.say("reasoning", chunk))
      case "tool_call":
      case "tool_call_update":
        return Option.map(decodeTool(update), (call) => this.upsert(call))
      case "usage_update":
        return Option.map(decodeUsage(update), ({ cost, size, used }) => [contextUsage(used, size, cost)])
      case "user_message_chunk":
        return Option.some([])
      default:
        return Option.orElse(this.report(kind, update), () => this.facts.update(kind, update))
    }
  }

  /** A report of the agent beside its answer. */
  private report(kind: string, update: object): Option.Option<ReadonlyArray<HarnessEvent>> {
    switch (kind) {
      case "plan":
        return Option.map(decodePlan(update), ({ entries }) => [planOf({ entries: entries.map(toEntry) })])
      case "plan_update":
        return Option.map(decodePlanUpdate(update), ({ plan: { content, entries, planId, uri } }) => [
          planOf({
            plan_id: planId,
            entries: (entries ?? []).map(toEntry),
            text: content === undefined || content === null ? null : cutText(content, summaryLength),
            uri: uri ?? null
          })
        ])
      case "plan_removed":
        return Option.map(decodePlanRemoved(update), ({ planId }) => [planOf({ plan_id: planId, removed: true })])
      case "notice":
        return Option.map(decodeNotice(update), ({ description, severity, title }) => [
          {
            _tag: "notice",
            severity,
            title: cutText(title, maxWords),
            description: description === undefined || description === null ? null : cutText(description, maxWords)
          }
        ])
      case "compaction_update":
        return Option.map(decodeCompaction(update), ({ compactionId, error, status, summary }) => [
          this.compact(compactionId, {
            state: compactionStates[status] ?? "running",
            ...(summary !== null && summary !== undefined && { summary: Content.wordsOf(summary) }),
            ...(error !== null && error !== undefined && { error: cutText(error, maxWords) })
          })
        ])
      case "compaction_summary_chunk":
        return Option.map(decodeCompactionChunk(update), ({ compactionId, content }) => [
          this.compact(compactionId, {
            summary: (this.compactions.get(compactionId)?.summary ?? "") + Content.wordsOf([content])
          })
        ])
      default:
        return Option.none()
    }
  }

  private compact(compaction_id: string, change: Partial<Compaction>): HarnessEvent {
    const before = this.compactions.get(compaction_id) ?? {
      compaction_id,
      state: "running",
      summary: null,
      error: null
    }
    const after: Compaction = { ...before, ...change }
    const kept = {
      ...after,
      summary: after.summary === undefined || after.summary === null ? null : cutText(after.summary, summaryLength)
    }
    this.compactions.set(compaction_id, kept)
    return { _tag: "compaction", ...kept }
  }

  private say(tag: Words["tag"], { content, messageId }: typeof MessageChunk.Type): ReadonlyArray<HarnessEvent> {
    const shown = Content.mediaOf(content)
    if (shown === undefined) return this.speak(tag, Content.wordsOf([content]), messageId ?? undefined)
    this.output = true
    return [...this.flush(), { _tag: "media", media: shown }]
  }

  private speak(tag: Words["tag"], said: string, messageId: string | undefined): ReadonlyArray<HarnessEvent> {
    if (this.error !== undefined) {
      this.error += said
      return []
    }
    if (tag === "text") this.lastWords = cutText(this.lastWords + said, errorLength)
    const { words } = this
    const goesOn = words !== undefined && words.tag === tag && (messageId ?? words.key) === words.key
    const before = goesOn ? [] : this.flush()
    const key = messageId ?? this.words?.key ?? `${tag}-${this.part}`
    const text = this.scrubber.scrub((this.words?.held ?? "") + said)
    // An agent may send the two halves of a character one after the other.
    const held = Math.max(this.scrubber.partialLength(text), /[\ud800-\udbff]$/.test(text) ? 1 : 0)
    this.words = { tag, key, held: text.slice(text.length - held) }
    if (tag === "text" && said.trim() !== "") this.output = true
    return [...before, ...wordsOf(tag, key, text.slice(0, text.length - held))]
  }

  private upsert(call: ToolCall, merge = ToolRecord.merge): ReadonlyArray<HarnessEvent> {
    const tool = merge(this.tools.get(call.toolCallId), call)
    this.tools.set(tool.tool_id, tool)
    this.lastWords = ""
    if (tool.state === "done") this.output = true
    return [...this.flush(), tool]
  }

  /** The words that were held back. Further words begin another part. */
  private flush(): ReadonlyArray<HarnessEvent> {
    const rest = this.words
    this.words = undefined
    this.part += 1
    return rest === undefined ? [] : wordsOf(rest.tag, rest.key, rest.held)
  }
}

const wordsOf = (tag: Words["tag"], key: string, text: string): ReadonlyArray<HarnessEvent> => {
  if (text === "") return []
  return [tag === "text" ? { _tag: "text", message_key: key, text } : { _tag: "reasoning", message_key: key, text }]
}

const toEntry = (entry: {
  content: string
  priority?: string | null | undefined
  status?: string | null | undefined
}) => ({
  content: cutText(entry.content, maxWords),
  priority: entry.priority ?? "medium",
  status: entry.status ?? "pending"
})

const planOf = (plan: Partial<ShownPlan>): HarnessEvent => ({
  _tag: "plan",
  plan_id: null,
  text: null,
  uri: null,
  removed: false,
  ...plan,
  entries: plan.entries?.slice(0, maxEntries) ?? []
})

const compactionStates: Readonly<Record<string, Compaction["state"]>> = {
  in_progress: "running",
  completed: "done",
  failed: "failed",
  cancelled: "cancelled"
}

/** Null when neither is known. */
const sum = (before: number | null | undefined, tokens: number | null | undefined): number | null =>
  tokens === null || tokens === undefined ? (before ?? null) : (before ?? 0) + Math.round(tokens)

const contextUsage = (
  used: number,
  size: number,
  cost: { amount: number; currency: string } | null | undefined
): HarnessUsage => ({
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
