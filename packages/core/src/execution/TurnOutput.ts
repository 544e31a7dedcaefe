import type { EventSubjects, NewEvent, ToolPayload } from "../domain/Event.js"
import type { MessageId, SessionId, TurnId } from "../domain/Ids.js"
import type { ContentBlock, MessageDelta, MessagePart } from "../domain/Message.js"
import { noUsage, type Usage } from "../domain/Session.js"
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
  /** The usage that the harness has reported last. */
  usage: Usage = noUsage
  /** The end that the harness has reported; undefined before. */
  stopReason: "completed" | "cancelled" | "refused" | "denied" | "limit" | undefined

  constructor(
    private readonly messageId: MessageId,
    private readonly subjects: EventSubjects
  ) {}

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

  /** True while the agent has neither said nor done anything. */
  isEmpty(): boolean {
    return this.parts.size === 0 && this.tools.size === 0
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
    if (usage.scope !== "context") {
      this.usage = {
        input_tokens: usage.input_tokens ?? this.usage.input_tokens,
        output_tokens: usage.output_tokens ?? this.usage.output_tokens,
        cached_tokens: usage.cached_tokens ?? this.usage.cached_tokens,
        reasoning_tokens: usage.reasoning_tokens ?? this.usage.reasoning_tokens,
        cost_usd: this.usage.cost_usd
      }
    }
    if (usage.cost?.currency === "USD") this.usage = { ...this.usage, cost_usd: usage.cost.amount }
    return {
      type: "usage.observed",
      payload: {
        usage: this.usage,
        context_used: usage.context_used ?? null,
        context_size: usage.context_size ?? null
      },
      subjects: this.subjects
    }
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
