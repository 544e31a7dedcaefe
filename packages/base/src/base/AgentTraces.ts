import { Context, type Effect } from "effect"
import type { ChangesetId, DeliveryId, SessionId, TurnId } from "../domain/Ids.js"
import type { Timestamp } from "../domain/Timestamp.js"

// Traces of agents hear plain data, as observers do. So every room can tell them something, and this file needs no room.

/** A place in a trace, as the header `traceparent` of the W3C writes it. */
export type TraceParent = string

/** A job that was asked for at a place in a trace. */
export interface TracedJob {
  readonly kind: string
  readonly subject: { readonly type: string; readonly id: string }
  /** Undefined for a job that was asked for outside of every trace. */
  readonly within: TraceParent | undefined
}

/** A turn, and the place in a trace where its job was asked for. */
export interface TurnPlace {
  readonly turnId: TurnId
  readonly sessionId: SessionId
  readonly within: TraceParent | undefined
}

/** A model call that has ended. Null stands for what nobody knows. */
export interface TracedCall {
  readonly protocol: string
  readonly model: string | null
  /** Milliseconds since 1970, as for `endedAt`. */
  readonly startedAt: number
  readonly endedAt: number
  readonly outcome: string
  readonly status: number | null
  readonly lack: "cut" | "withheld" | null
  readonly usage: {
    readonly input: number | null
    readonly cached: number | null
    readonly cacheWritten: number | null
    readonly output: number | null
    readonly reasoning: number | null
  } | null
  /** The model that the answer names, and its own words for its end. */
  readonly answer?: { readonly model: string | null; readonly ends: ReadonlyArray<string> }
}

/** A tool call of an agent that has ended, or that was open when its agent ended. */
export interface TracedTool {
  readonly toolId: string
  /** The kind of the tool, as `edit` or `execute`. Its title is a text of the agent, so no trace has it. */
  readonly kind: string
  readonly state: string
  /** Milliseconds since 1970, as for `endedAt`. */
  readonly startedAt: number
  readonly endedAt: number
  /** Absent where no content is sent. */
  readonly content?: TracedContent
}

/** The words that went in and came out, without secrets. */
export interface TracedContent {
  readonly input: string
  readonly output: string
}

/** A call of a tool of the service itself. */
export interface HostedCall {
  readonly tool: string
  readonly callId: string
}

/** A turn that has ended. */
export interface TracedTurnEnd extends TurnPlace {
  readonly state: string
  readonly reason: string | null
  readonly agent: { readonly id: string; readonly name: string | null; readonly version: string | null }
  readonly model: string | null
  /** The protocol of its model calls; null when it has made none. */
  readonly protocol: string | null
  readonly usage: {
    readonly input_tokens: number | null
    readonly output_tokens: number | null
    readonly cached_tokens: number | null
  }
  /** Null for a turn whose agent was not asked. */
  readonly startedAt: Timestamp | null
  readonly finishedAt: Timestamp
  /** The turn that this one tries again. */
  readonly retryOf?: TurnPlace
}

/** An attempt at a delivery. */
export interface TracedDelivery {
  readonly id: DeliveryId
  readonly changesetId: ChangesetId
  readonly sessionId: SessionId
  readonly transport: string
  /** The turn whose work is delivered; undefined when none is known. */
  readonly turn: TurnPlace | undefined
}

/** Work as a part of a trace. `problemOf` gives a word for a result that is a failure. */
export interface TracedWork<A, E> {
  readonly work: Effect.Effect<A, E>
  readonly problemOf: (result: A) => string | undefined
}

/** The traces of agents and their work. */
export interface AgentTracing {
  /** True where the words of people, agents and tools are sent too. */
  readonly sendsContent: boolean
  /** The place to keep with work that this fiber asks for; undefined outside of every trace. */
  readonly here: Effect.Effect<TraceParent | undefined>
  /** Runs an attempt at the place where its job was asked for. */
  readonly attempt: <A, E>(job: TracedJob, work: Effect.Effect<A, E>) => Effect.Effect<A, E>
  readonly modelCall: (turn: TurnPlace, call: TracedCall) => void
  readonly toolEnded: (turn: TurnPlace, tool: TracedTool) => void
  readonly hosted: <A, E>(turn: TurnPlace, call: HostedCall, traced: TracedWork<A, E>) => Effect.Effect<A, E>
  readonly delivery: <A, E>(delivery: TracedDelivery, traced: TracedWork<A, E>) => Effect.Effect<A, E>
  /** The message of a turn and the answer to it, before the end of the turn. It is not called where no content is sent. */
  readonly said: (turn: TurnPlace, content: TracedContent) => void
  readonly turnEnded: (turn: TracedTurnEnd) => void
}

/**
 * Makes traces of agents, by the conventions of OpenTelemetry. Undefined unless the operator has asked for it; then nothing is kept or looked up for
 * it. What it does must be short and must not fail.
 */
export class AgentTraces extends Context.Reference<AgentTraces>()("@reins/core/base/AgentTraces", {
  defaultValue: (): AgentTracing | undefined => undefined
}) {}

/** The key of a job's payload that keeps where the job was asked for. */
const key = "traceparent"

/** The part of a job's payload that keeps a place in a trace. */
export const keptPlace = (place: TraceParent | undefined): Readonly<Record<string, string>> =>
  place === undefined ? {} : { [key]: place }

/** The place that a job's payload keeps; undefined when it keeps none. */
export const placeIn = (payload: Readonly<Record<string, unknown>>): TraceParent | undefined => {
  const place = payload[key]
  return typeof place === "string" ? place : undefined
}
