import type { ModelCall } from "../connections/ModelCall.js"
import type { EventSubjects, NewEvent, ToolPayload } from "../domain/Event.js"
import type { MessageId, SessionId, TurnId } from "../domain/Ids.js"
import type { ContentBlock, MessageDelta, MessagePart } from "../domain/Message.js"
import { costOf, type Prices } from "../domain/Prices.js"
import { addUsage, noUsage, toNanos, type Usage } from "../domain/Session.js"
import type { HarnessEvent, Usage as HarnessUsage, Tool } from "../harness/HarnessEvent.js"
import { digestOf } from "../store/CanonicalJson.js"

/** The longest text in an event, in characters. Longer texts are cut. The changeset holds the whole changes of files. */
const maxText = 64 * 1024

interface Part {
  readonly kind: "text" | "reasoning"
  text: string
  /** Words that no event holds yet. */
  pending: string
  revision: number
}

/**
 * Makes events of the output of a harness. It keeps what the end of the turn needs: the agent's words, its usage and its stop reason. Each run
 * of an agent has its own value, which one fiber uses.
 */
export class TurnOutput {
  private readonly parts = new Map<string, Part>()
  /** The digest of the last event of each tool. */
  private readonly tools = new Map<string, string>()
  /** The number of characters of each part that were sent as deltas. */
  private readonly whispered = new Map<string, number>()
  private readonly changedParts = new Set<string>()
  /** The usage by the agent's own report. */
  reported: Usage = noUsage
  /** The cost that the agent has counted since its native session began; null when it counts none. */
  nativeCost: number | null
  /** The usage by the gateway's answers; undefined when no model call has passed through the relay. */
  private seen: Usage | undefined
  /** The end that the harness has reported; undefined before. */
  stopReason: "completed" | "cancelled" | "refused" | "denied" | "limit" | undefined

  constructor(
    private readonly messageId: MessageId,
    private readonly subjects: EventSubjects,
    /** The cost that the agent had counted before this run, since its native session began. */
    private readonly costBefore: number | null
  ) {
    this.nativeCost = costBefore
  }

  /** Words as a delta, for readers that do not wait for the events of the batch. */
  delta(sessionId: SessionId, turnId: TurnId, words: Words): MessageDelta {
    const part_key = keyOf(words)
    const offset = this.whispered.get(part_key) ?? 0
    this.whispered.set(part_key, offset + words.text.length)
    const { _tag: kind, text } = words
    return { session_id: sessionId, turn_id: turnId, message_id: this.messageId, part_key, kind, offset, text }
  }

  /** The events of a batch of output, in its order. Consecutive words of one part become one event. */
  events(batch: Iterable<HarnessEvent>): Array<NewEvent> {
    const events: Array<NewEvent> = []
    for (const event of batch) {
      if (event._tag !== "text" && event._tag !== "reasoning") events.push(...this.flush())
      events.push(...this.apply(event))
    }
    return [...events, ...this.flush()]
  }

  /** The event of model calls that have ended; none without calls. */
  witnessed(calls: ReadonlyArray<ModelCall>, prices: Prices): Array<NewEvent> {
    if (calls.length === 0) return []
    this.seen = calls.map((call) => usageOf(call, prices)).reduce(addUsage, this.seen ?? noUsage)
    return [this.observed({})]
  }

  /** The last events of the output, which seal every part. It is called once, because each call raises the revisions. */
  seal(): Array<NewEvent> {
    return [...this.parts].map(([key, part]) => this.partEvent(key, part, "", true))
  }

  /** The words of the agent, one block for each of its messages. */
  content(): ReadonlyArray<ContentBlock> {
    return [...this.parts.values()]
      .filter((part) => part.kind === "text" && part.text !== "")
      .map((part) => ({ type: "text" as const, text: part.text }))
  }

  private apply(event: HarnessEvent): Array<NewEvent> {
    switch (event._tag) {
      case "text":
      case "reasoning": {
        const key = keyOf(event)
        const part = this.parts.get(key) ?? { kind: event._tag, text: "", pending: "", revision: 0 }
        part.pending += event.text
        this.parts.set(key, part)
        if (!this.changedParts.has(key)) {
          const before = this.flush()
          this.changedParts.add(key)
          return before
        }
        return []
      }
      case "tool":
        return this.toolEvents(event)
      case "usage":
        return [this.usageEvent(event)]
      case "diagnostic":
        return [
          { type: "diagnostic.reported", payload: { kind: event.kind, line: event.line }, subjects: this.subjects }
        ]
      case "ended":
        this.stopReason = event.stop_reason
        return []
      case "native_session":
      case "ready":
      case "asked":
        return []
    }
  }

  private flush(): Array<NewEvent> {
    const events = [...this.changedParts].flatMap((key) => {
      const part = this.parts.get(key)
      if (part === undefined || part.pending === "") return []
      const added = part.pending
      part.text += added
      part.pending = ""
      return [this.partEvent(key, part, added, false)]
    })
    this.changedParts.clear()
    return events
  }

  private partEvent(key: string, part: Part, content: string, sealed: boolean): NewEvent {
    part.revision += 1
    const type = part.revision === 1 ? "message.part_added" : "message.part_updated"
    const mode: MessagePart["mode"] = part.revision === 1 ? "replace" : "append"
    return {
      type,
      payload: {
        message_id: this.messageId,
        part: { part_key: key, kind: part.kind, revision: part.revision, mode, content, sealed }
      },
      subjects: this.subjects
    }
  }

  /** A report that repeats the last one gives no event. */
  private toolEvents(tool: Tool): Array<NewEvent> {
    const payload = toolPayload(tool)
    const digest = digestOf(JSON.stringify(payload))
    const before = this.tools.get(tool.tool_id)
    if (before === digest) return []
    this.tools.set(tool.tool_id, digest)
    const ended = tool.state === "done" || tool.state === "failed" || tool.state === "aborted"
    const type = ended ? "tool.completed" : before === undefined ? "tool.started" : "tool.updated"
    return [{ type, payload, subjects: this.subjects }]
  }

  private usageEvent(usage: HarnessUsage): NewEvent {
    // The last call says nothing of the calls before it, and the context is what is sent with each of them.
    if (usage.scope === "turn" || usage.scope === "process") {
      this.report({
        input_tokens: usage.input_tokens ?? this.reported.input_tokens,
        output_tokens: usage.output_tokens ?? this.reported.output_tokens,
        cached_tokens: usage.cached_tokens ?? this.reported.cached_tokens,
        reasoning_tokens: usage.reasoning_tokens ?? this.reported.reasoning_tokens
      })
    }
    if (usage.cost?.currency === "USD") {
      const { amount } = usage.cost
      this.nativeCost = amount
      // An agent whose count is below the last one has begun to count anew.
      const before = this.costBefore !== null && this.costBefore <= amount ? this.costBefore : 0
      this.report({ cost_usd: toNanos(amount - before) })
    }
    return this.observed(usage)
  }

  private report(usage: Partial<Usage>): void {
    this.reported = { ...this.reported, ...usage, source: "agent" }
  }

  private observed({ context_size, context_used }: Pick<HarnessUsage, "context_size" | "context_used">): NewEvent {
    return {
      type: "usage.observed",
      payload: {
        usage: this.seen ?? this.reported,
        context_used: context_used ?? null,
        context_size: context_size ?? null
      },
      subjects: this.subjects
    }
  }
}

/** The usage of one call. */
const usageOf = ({ model, usage }: ModelCall, prices: Prices): Usage => {
  const cost = costOf(model, usage, prices)
  const isReported = usage !== null && (usage.input !== null || usage.output !== null)
  return {
    input_tokens: usage?.input ?? null,
    output_tokens: usage?.output ?? null,
    cached_tokens: usage?.cached ?? null,
    reasoning_tokens: usage?.reasoning ?? null,
    cost_usd: cost === null ? null : cost / 1e9,
    source: isReported ? "gateway" : null,
    calls: 1,
    reported_calls: isReported ? 1 : 0,
    priced_calls: cost === null ? 0 : 1
  }
}

type Words = Extract<HarnessEvent, { _tag: "text" | "reasoning" }>

const keyOf = (words: Words): string => `${words._tag}:${words.message_key}`

const toolPayload = (tool: Tool): ToolPayload => {
  const input = JSON.stringify(tool.input) ?? "null"
  const output = tool.output_text ?? null
  const diffs = tool.diffs.map((diff) => ({
    path: diff.path,
    old_text: diff.old_text === null ? null : diff.old_text.slice(0, maxText),
    new_text: diff.new_text.slice(0, maxText)
  }))
  return {
    tool_id: tool.tool_id,
    kind: tool.kind,
    title: tool.title.slice(0, 1000),
    input: input.length <= maxText ? tool.input : { truncated: input.slice(0, maxText) },
    state: tool.state,
    output_text: output === null ? null : output.slice(0, maxText),
    diffs,
    truncated:
      input.length > maxText ||
      (output?.length ?? 0) > maxText ||
      tool.diffs.some((diff) => diff.new_text.length > maxText || (diff.old_text?.length ?? 0) > maxText)
  }
}
