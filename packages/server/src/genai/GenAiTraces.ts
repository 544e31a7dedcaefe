import {
  AgentTraces,
  type AgentTracing,
  type TracedContent,
  type TracedTurnEnd,
  type TracedWork
} from "@reins/base/base/AgentTraces"
import { TurnId } from "@reins/base/domain/Ids"
import { toMillis } from "@reins/base/domain/Timestamp"
import { turnJobKind } from "@reins/core/sessions/turns/TurnQueue"
import { Cause, Effect, Exit, Layer, Option, type Tracer } from "effect"
import {
  callAttributes,
  callError,
  deliveryAttributes,
  hostedAttributes,
  toolAttributes,
  toolNameOf,
  turnAttributes,
  turnError
} from "./GenAiAttributes.js"
import { GenAiFigures } from "./GenAiFigures.js"
import { genAiNames, otherName, providerOf } from "./GenAiNames.js"
import { describeSpan, linkTo, placeOfSpan, type SpanAttributes, spanAt, spanOfTurn, tellSpan } from "./GenAiSpans.js"

/** Makes spans and figures of agents, by the conventions of OpenTelemetry for generative AI. */
export const layer = ({ content }: { readonly content: boolean }): Layer.Layer<AgentTraces> =>
  Layer.effect(
    AgentTraces,
    Effect.map(Effect.tracer, (tracer) => tracingBy(tracer, content))
  )

const tracingBy = (tracer: Tracer.Tracer, sendsContent: boolean): AgentTracing => {
  const figures = new GenAiFigures()
  const places = new Places()
  return {
    sendsContent,
    here: places.here,
    attempt: ({ kind, subject, within }, work) => {
      const isTurn = kind === turnJobKind
      const kept = within === undefined ? undefined : spanAt(within)
      const place = isTurn ? spanOfTurn({ turnId: TurnId.make(subject.id), within }) : kept
      if (place === undefined) return work
      const inside = Effect.withParentSpan(work, places.keep(place))
      return isTurn ? places.timed(subject.id, inside) : inside
    },
    modelCall: (turn, call) => {
      const operation = call.protocol === "gemini" ? "generate_content" : "chat"
      const model = call.model ?? undefined
      const of = {
        operation,
        provider: providerOf(call.protocol),
        requestModel: model,
        responseModel: call.answer?.model ?? undefined
      }
      figures.tokens(of, "input", call.usage?.input)
      figures.tokens(of, "output", call.usage?.output)
      figures.duration(of, call.endedAt - call.startedAt, callError(call))
      tellSpan(tracer, {
        name: model === undefined ? operation : `${operation} ${model}`,
        kind: "client",
        parent: spanOfTurn(turn),
        startedAt: call.startedAt,
        endedAt: call.endedAt,
        attributes: { [genAiNames.operation]: operation, ...callAttributes(turn, call) }
      })
    },
    toolEnded: (turn, tool) =>
      tellSpan(tracer, {
        name: `execute_tool ${toolNameOf(tool.kind)}`,
        kind: "internal",
        parent: spanOfTurn(turn),
        startedAt: tool.startedAt,
        endedAt: tool.endedAt,
        attributes: toolAttributes(turn, tool)
      }),
    hosted: (turn, call, traced) =>
      inSpan(
        `tools/call ${toolNameOf(call.tool)}`,
        { kind: "server", parent: spanOfTurn(turn), ...plain },
        hostedAttributes(turn, call),
        traced,
        places
      ),
    delivery: (delivery, traced) => {
      const turn = delivery.turn && spanOfTurn(delivery.turn)
      return Effect.withFiberRuntime((fiber) => {
        const parent = fiber.currentSpan ?? turn
        const links = turn === undefined || parent === turn || parent?.traceId === turn.traceId ? [] : [linkTo(turn)]
        return inSpan(
          `deliver ${delivery.transport}`,
          { kind: "internal", links, ...plain, ...(parent && { parent }) },
          deliveryAttributes(delivery),
          traced,
          places
        )
      })
    },
    said: ({ turnId }, words) => places.hear(turnId, words),
    turnEnded: (turn) => tellTurn(tracer, figures, places.running(turn.turnId), turn)
  }
}

const plain = { captureStackTrace: false } as const

/** Runs work as a span. What the work asks for has its place below the span. */
const inSpan = <A, E>(
  name: string,
  options: Tracer.SpanOptions,
  attributes: SpanAttributes,
  { problemOf, work }: TracedWork<A, E>,
  places: Places
): Effect.Effect<A, E> =>
  Effect.useSpan(name, options, (span) => {
    describeSpan(span, attributes)
    return Effect.withParentSpan(work, places.keep(span)).pipe(
      Effect.onExit((exit) => Effect.sync(() => describeSpan(span, { [genAiNames.error]: problemIn(exit, problemOf) })))
    )
  })

const problemIn = <A, E>(exit: Exit.Exit<A, E>, problemOf: (result: A) => string | undefined): string | undefined => {
  if (Exit.isSuccess(exit)) return problemOf(exit.value)
  if (Cause.isInterruptedOnly(exit.cause)) return undefined
  const failure: unknown = Option.getOrUndefined(Cause.failureOption(exit.cause))
  return typeof failure === "object" && failure !== null && "code" in failure ? String(failure.code) : otherName
}

const tellTurn = (
  tracer: Tracer.Tracer,
  figures: GenAiFigures,
  running: RunningTurn | undefined,
  turn: TracedTurnEnd
): void => {
  const startedAt = running?.begunAt ?? (turn.startedAt === null ? undefined : toMillis(turn.startedAt))
  const endedAt = toMillis(turn.finishedAt)
  // Nothing was invoked for a turn that was cancelled in the queue.
  if (startedAt === undefined && turn.state === "cancelled") return
  const ids = spanOfTurn(turn)
  const { name } = turn.agent
  const provider = turn.protocol === null ? undefined : providerOf(turn.protocol)
  const of = {
    operation: "invoke_agent",
    provider,
    requestModel: turn.model ?? undefined,
    responseModel: undefined
  }
  figures.duration(of, endedAt - (startedAt ?? endedAt), turnError(turn))
  tellSpan(tracer, {
    name: name === null ? "invoke_agent" : `invoke_agent ${name}`,
    kind: "internal",
    parent: turn.within === undefined ? undefined : spanAt(turn.within),
    ids: { spanId: ids.spanId, traceId: ids.traceId },
    links: turn.retryOf === undefined ? [] : [linkTo(spanOfTurn(turn.retryOf))],
    startedAt: startedAt ?? endedAt,
    endedAt,
    attributes: { ...turnAttributes(turn, running?.words), [genAiNames.provider]: provider }
  })
}

/** A turn that this process runs. */
interface RunningTurn {
  readonly begunAt: number
  words: TracedContent | undefined
}

/** The spans below which work is kept, and the turns of this process. */
class Places {
  private readonly kept = new WeakSet<Tracer.AnySpan>()
  private readonly turns = new Map<string, RunningTurn>()

  keep<Span extends Tracer.AnySpan>(span: Span): Span {
    this.kept.add(span)
    return span
  }

  /** The nearest span that work is kept below; else the first of this process, which is that of the request. */
  readonly here = Effect.withFiberRuntime<string | undefined>(({ currentSpan }) => {
    let span = currentSpan
    while (span?._tag === "Span" && !this.kept.has(span)) {
      const parent = Option.getOrUndefined(span.parent)
      if (parent === undefined || (parent._tag === "ExternalSpan" && !this.kept.has(parent))) break
      span = parent
    }
    return Effect.succeed(span && placeOfSpan(span))
  })

  timed<A, E>(turnId: string, work: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.turns.set(turnId, { begunAt: Date.now(), words: undefined })),
      () => work,
      () => Effect.sync(() => this.turns.delete(turnId))
    )
  }

  running(turnId: string): RunningTurn | undefined {
    return this.turns.get(turnId)
  }

  hear(turnId: string, words: TracedContent): void {
    const turn = this.turns.get(turnId)
    if (turn !== undefined) turn.words = words
  }
}
