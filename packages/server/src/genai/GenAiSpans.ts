import { createHash } from "node:crypto"
import type { TraceParent, TurnPlace } from "@reins/base/base/AgentTraces"
import { Context, Exit, Option, Tracer } from "effect"

/** The values of attributes. Undefined and null stand for what nobody knows, and are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | ReadonlyArray<string> | null | undefined>>

/** A span of something that is over. */
export interface PastSpan {
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly parent: Tracer.AnySpan | undefined
  /** Absent for a span that nothing refers to. */
  readonly ids?: Pick<Tracer.Span, "spanId" | "traceId">
  readonly links?: ReadonlyArray<Tracer.SpanLink>
  /** Milliseconds since 1970, as for `endedAt`. */
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: SpanAttributes
}

/** Hands a span to the tracer. It never fails. */
export const tellSpan = (tracer: Tracer.Tracer, past: PastSpan): void => {
  const { attributes, endedAt, ids, kind, links = [], name, parent, startedAt } = past
  const span = tracer.span(name, Option.fromNullable(parent), Context.empty(), links, nanos(startedAt), kind)
  // Boundary: the tracer gives every span a random id. Spans that others refer to before they are over need one that is known.
  if (ids !== undefined) Object.assign(span, ids)
  describeSpan(span, attributes)
  span.end(nanos(Math.max(startedAt, endedAt)), Exit.void)
}

/** Adds what is known to a span. */
export const describeSpan = (span: Tracer.Span, attributes: SpanAttributes): void => {
  for (const [name, value] of Object.entries(attributes)) if (value != null) span.attribute(name, value)
}

const nanos = (ms: number): bigint => BigInt(Math.round(ms)) * 1_000_000n

/**
 * The span of a turn. Its id comes from that of the turn, so that every process and every start of one knows it: spans below it are sent while the turn
 * runs, and the span itself by the process that ends the turn. A turn that was asked for outside of every trace has a trace of its own.
 */
export const spanOfTurn = ({ turnId, within }: Pick<TurnPlace, "turnId" | "within">): Tracer.ExternalSpan => {
  const digest = createHash("sha256").update(`turn ${turnId}`).digest()
  const traceId = within === undefined ? undefined : spanAt(within)?.traceId
  return Tracer.externalSpan({
    spanId: digest.subarray(0, 8).toString("hex"),
    traceId: traceId ?? digest.subarray(8, 24).toString("hex"),
    sampled: true
  })
}

const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/

/** The span at a place; undefined for a text that names none. */
export const spanAt = (place: TraceParent): Tracer.ExternalSpan | undefined => {
  const [, traceId, spanId] = form.exec(place) ?? []
  return traceId === undefined || spanId === undefined
    ? undefined
    : Tracer.externalSpan({ traceId, spanId, sampled: true })
}

export const placeOfSpan = ({ spanId, traceId }: Tracer.AnySpan): TraceParent => `00-${traceId}-${spanId}-01`

export const linkTo = (span: Tracer.AnySpan): Tracer.SpanLink => ({ _tag: "SpanLink", span, attributes: {} })
