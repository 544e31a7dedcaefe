import { digestOf } from "@reins/base/base/CanonicalJson"
import type { EventPayload, EventSubjects, EventType, NewEvent } from "@reins/base/domain/Event"
import type { MessageId, SessionId, TurnId } from "@reins/base/domain/Ids"
import type { MessageDelta } from "@reins/base/domain/MessageDelta"
import type { Media } from "@reins/machine/harness/AgentReport"
import type { HarnessEvent, HarnessUsage, Reported } from "@reins/machine/harness/HarnessEvent"
import type { ModelCall } from "@reins/machine/relay/gateway/ModelCall"
import { costOf, type Prices } from "../../connections/Prices.js"
import type { Message, MessagePart } from "../../sessions/rows/Message.js"
import { addUsage, noUsage, toNanos, type Usage } from "../../sessions/rows/Session.js"
import { AnswerParts } from "./AnswerParts.js"
import { Pace } from "./Pace.js"
import { hasEnded, ToolEvents } from "./ToolEvents.js"

interface Part {
  readonly kind: "text" | "reasoning"
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
  private readonly tools = new ToolEvents()
  /** What is told again with its changes, and changes more often than readers can see. */
  private readonly pace = new Pace<Changing>()
  /** The digest of the last event of each plan and compaction. */
  private readonly reports = new Map<string, string>()
  /** The number of characters of each part that were sent as deltas. */
  private readonly whispered = new Map<string, number>()
  private readonly changedParts = new Set<string>()
  private readonly answerParts = new AnswerParts()
  private shown = 0
  private hasTold = false
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
    private readonly costBefore: number | null,
    /** The digests of what the agent has reported of itself before, by type of event. */
    private readonly told: Record<string, string> = {}
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

  /**
   * The events of a batch of output, in its order, and of what is due at that time. Consecutive words of one part become one event. Changes
   * of a tool, a plan or a compaction that follow too soon wait for a later batch.
   */
  events(batch: Iterable<HarnessEvent>, now = Number.POSITIVE_INFINITY): Array<NewEvent> {
    const events: Array<NewEvent> = []
    for (const event of batch) {
      if (event._tag !== "text" && event._tag !== "reasoning") events.push(...this.flush())
      events.push(...this.apply(event, now))
    }
    const due = this.pace.due(now).flatMap((state) => this.tell(state, now))
    return [...events, ...this.flush(), ...due]
  }

  /** The events of all that waits. */
  rest(now: number): Array<NewEvent> {
    return this.pace.due(Number.POSITIVE_INFINITY).flatMap((state) => this.tell(state, now))
  }

  /** The time at which something that waits is due; undefined when nothing waits. */
  get nextAt(): number | undefined {
    return this.pace.nextAt
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

  /** All that the agent has said and done so far, as a message holds it. */
  answer(): Pick<Message, "content" | "parts"> {
    return { content: this.answerParts.content(), parts: this.answerParts.list() }
  }

  /** The digests after the last events, as JSON; undefined when they are as before. */
  newlyTold(): string | undefined {
    if (!this.hasTold) return undefined
    this.hasTold = false
    return JSON.stringify(this.told)
  }

  private apply(event: HarnessEvent, now: number): Array<NewEvent> {
    switch (event._tag) {
      case "text":
      case "reasoning": {
        const key = keyOf(event)
        const part = this.parts.get(key) ?? { kind: event._tag, pending: "", revision: 0 }
        part.pending += event.text
        this.parts.set(key, part)
        if (!this.changedParts.has(key)) {
          const before = this.flush()
          this.changedParts.add(key)
          return before
        }
        return []
      }
      case "media":
        return [this.mediaEvent(event.media)]
      case "tool":
      case "plan":
      case "compaction":
        return this.change(event, now)
      case "notice":
        return [this.event("agent.notice_given", payloadOf(event))]
      case "commands":
        return this.changed("agent.commands_listed", payloadOf(event))
      case "options":
        return this.changed("agent.options_listed", payloadOf(event))
      case "title":
        return this.changed("agent.titled", payloadOf(event))
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
      case "revised":
      case "withdrawn":
        return []
    }
  }

  private event<Type extends EventType & `${"agent" | "plan"}.${string}`>(
    type: Type,
    payload: EventPayload<Type>
  ): NewEvent {
    // Boundary: a union over the types of events does not narrow by a type parameter.
    return { type, payload, subjects: this.subjects } as NewEvent
  }

  /** Agents report what holds for a session with each of their starts. It is told when it is another than before. */
  private changed<Type extends EventType & `agent.${string}`>(
    type: Type,
    payload: EventPayload<Type>
  ): Array<NewEvent> {
    const digest = digestOf(JSON.stringify(payload))
    if (this.told[type] === digest) return []
    this.told[type] = digest
    this.hasTold = true
    return [this.event(type, payload)]
  }

  private mediaEvent(media: Media): NewEvent {
    this.shown += 1
    const part_key = `media:${this.shown}`
    this.answerParts.show(part_key, media)
    return {
      type: "message.part_added",
      payload: {
        message_id: this.messageId,
        part: { part_key, kind: "media", revision: 1, mode: "replace", content: media, sealed: true }
      },
      subjects: this.subjects
    }
  }

  private flush(): Array<NewEvent> {
    const events = [...this.changedParts].flatMap((key) => {
      const part = this.parts.get(key)
      if (part === undefined || part.pending === "") return []
      const added = part.pending
      this.answerParts.say(part.kind, key, added)
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

  /** Tells a change, or keeps it until it is due. The start and the end of a tool are told at once. */
  private change(state: Changing, now: number): Array<NewEvent> {
    const isEdge = state._tag === "tool" && (hasEnded(state) || !this.tools.isKnown(state.tool_id))
    if (isEdge || this.pace.isFree(nameOf(state), now)) return this.tell(state, now)
    this.pace.hold(nameOf(state), state)
    return []
  }

  /** A report that repeats the last one gives no event. */
  private tell(state: Changing, now: number): Array<NewEvent> {
    if (state._tag === "tool") {
      const told = this.tools.of(state)
      this.pace.tell(nameOf(state), now, told?.repeated ?? 0)
      if (told === undefined) return []
      this.answerParts.call(told.payload)
      return [{ ...told.event, subjects: this.subjects } as NewEvent]
    }
    const text = JSON.stringify(state)
    this.pace.tell(nameOf(state), now, text.length)
    const digest = digestOf(text)
    if (this.reports.get(nameOf(state)) === digest) return []
    this.reports.set(nameOf(state), digest)
    if (state._tag === "compaction") return [this.event("agent.compaction_updated", payloadOf(state))]
    const plan = payloadOf(state)
    this.answerParts.intend(plan)
    return [this.event("plan.updated", plan)]
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

type Changing = Extract<HarnessEvent, { _tag: "tool" | "plan" | "compaction" }>

const nameOf = (state: Changing): string => {
  if (state._tag === "tool") return `tool ${state.tool_id}`
  return state._tag === "plan" ? `plan ${state.plan_id ?? ""}` : `compaction ${state.compaction_id}`
}

type Words = Extract<HarnessEvent, { _tag: "text" | "reasoning" }>

const keyOf = (words: Words): string => `${words._tag}:${words.message_key}`

const payloadOf = <Report extends Reported>({ _tag, ...payload }: Report): Omit<Report, "_tag"> => payload
