import { assert, describe, it } from "@effect/vitest"
import type { TracedCall, TracedTurnEnd, TurnPlace } from "@reins/base/base/AgentTraces"
import { AgentTraces } from "@reins/base/base/AgentTraces"
import { SessionId, TurnId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { turnJobKind } from "@reins/core/sessions/turns/TurnQueue"
import { callAttributes, callError, toolAttributes, toolNameOf } from "@reins/server/genai/GenAiAttributes"
import { GenAiFigures, secondBounds, tokenBounds, unitLabel } from "@reins/server/genai/GenAiFigures"
import { genAiNames as names, providerOf, conventionsVersion as version } from "@reins/server/genai/GenAiNames"
import * as GenAiTraces from "@reins/server/genai/GenAiTraces"
import { otlpOf } from "@reins/server/Telemetry"
import { Effect, Layer, Metric, Option, Tracer } from "effect"
import { conventions } from "./Conventions.js"

const place: TurnPlace = {
  turnId: TurnId.make("turn_01h455vb4pex5vsknk084sn02q"),
  sessionId: SessionId.make("sess_01h455vb4pex5vsknk084sn02q"),
  within: undefined
}

const call: TracedCall = {
  protocol: "openai_chat",
  model: "m",
  startedAt: 1000,
  endedAt: 3000,
  outcome: "answered",
  status: 200,
  lack: null,
  usage: null
}

const end: TracedTurnEnd = {
  ...place,
  state: "failed",
  reason: "timeout",
  agent: { id: "alpha", name: null, version: null },
  model: null,
  protocol: null,
  usage: { input_tokens: null, output_tokens: null, cached_tokens: null },
  startedAt: Timestamp.make("2026-01-01T00:00:00.000Z"),
  finishedAt: Timestamp.make("2026-01-01T00:00:02.000Z")
}

describe("the names of attributes", () => {
  it("are those of the conventions that are recorded", () => {
    assert.strictEqual(version, conventions.version)
    for (const name of Object.values(names)) assert.property(conventions.attributes, name)
  })

  it("have the values that the conventions know", () => {
    const valuesOf = (name: string) => conventions.attributes[name]?.values ?? assert.fail(name)
    const values = valuesOf("gen_ai.provider.name")
    for (const protocol of ["openai_chat", "openai_responses", "anthropic_messages", "gemini"])
      assert.include(values, providerOf(protocol))
    assert.isUndefined(providerOf("of the future"))
    const operations = valuesOf("gen_ai.operation.name")
    assert.includeMembers([...operations], ["chat", "generate_content", "invoke_agent", "execute_tool"])
  })

  it("are left out where nobody knows the value", () => {
    const known = Object.entries(callAttributes(place, call)).filter(([, value]) => value != null)
    assert.deepStrictEqual(
      known.map(([name]) => name).sort(),
      [
        "gen_ai.conversation.id",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "reins.model_call.outcome",
        "reins.turn.id"
      ].sort()
    )
  })

  it("are plain for tools, however they are called", () => {
    assert.strictEqual(toolNameOf("edit"), "edit")
    assert.strictEqual(toolNameOf("get the\n\u202eweather"), "get_the_weather")
    assert.strictEqual(toolNameOf("x".repeat(65)), "other")
    assert.strictEqual(toolNameOf(""), "other")
  })

  it("tell an error only where there is one", () => {
    const errorOf = (outcome: string, status: number | null) => callError({ ...call, outcome, status })
    assert.isUndefined(errorOf("answered", 200))
    assert.isUndefined(errorOf("abandoned", null))
    assert.strictEqual(errorOf("refused", 429), "429")
    assert.strictEqual(errorOf("unreachable", null), "unreachable")
    const tool = { toolId: "t", kind: "edit", startedAt: 0, endedAt: 1 }
    const states = ["done", "failed", "aborted", "running"].map((state) => {
      const attributes = toolAttributes(place, { ...tool, state })
      return [attributes["reins.tool.state"], attributes["error.type"]]
    })
    assert.deepStrictEqual(states, [
      ["done", undefined],
      ["failed", "tool_error"],
      ["aborted", undefined],
      ["running", undefined]
    ])
  })
})

describe("the figures", () => {
  it("have the bounds and the units of the conventions", () => {
    assert.deepStrictEqual(tokenBounds, conventions.metrics["gen_ai.client.token.usage"]?.bounds)
    assert.deepStrictEqual(secondBounds, conventions.metrics["gen_ai.client.operation.duration"]?.bounds)
    const figures = new GenAiFigures()
    const of = { operation: "chat", provider: "openai", requestModel: "of bounds", responseModel: undefined }
    figures.tokens(of, "input", 5)
    figures.tokens(of, "output", null)
    figures.duration(of, 2000, undefined)
    const found = Metric.unsafeSnapshot().filter(({ metricKey }) =>
      metricKey.tags.some(({ value }) => value === "of bounds")
    )
    assert.lengthOf(found, 2)
    for (const { metricKey } of found) {
      const unit = metricKey.tags.find(({ key }) => key === unitLabel)?.value
      assert.strictEqual(unit, conventions.metrics[metricKey.name]?.unit)
    }
  })

  it("tell no more models apart than a hundred", () => {
    const figures = new GenAiFigures()
    for (let at = 0; at < 300; at++)
      figures.duration(
        { operation: "chat", provider: undefined, requestModel: `many ${at}`, responseModel: undefined },
        1,
        undefined
      )
    const models = Metric.unsafeSnapshot().flatMap(({ metricKey }) =>
      metricKey.tags.filter(({ key }) => key === "gen_ai.request.model").map(({ value }) => value)
    )
    assert.lengthOf(
      models.filter((model) => model.startsWith("many ")),
      100
    )
    assert.include(models, "_OTHER")
  })
})

interface Ended {
  readonly span: Tracer.Span
  readonly parent: Tracer.AnySpan | undefined
  readonly attributes: ReadonlyMap<string, unknown>
}

/** Runs work with the traces of agents, and gives the spans that have ended. */
const recorded = <A>(use: (traces: NonNullable<typeof AgentTraces.Service>) => Effect.Effect<A>) =>
  Effect.gen(function* () {
    const ended: Array<Ended> = []
    let count = 0
    const tracer = Tracer.make({
      context: (f) => f(),
      span: (name, parent, context, links, startTime, kind) => {
        const attributes = new Map<string, unknown>()
        count += 1
        const span: Tracer.Span = {
          _tag: "Span",
          name,
          parent,
          context,
          links,
          kind,
          attributes,
          sampled: true,
          spanId: String(count).padStart(16, "0"),
          traceId: Option.match(parent, { onNone: () => "f".repeat(32), onSome: ({ traceId }) => traceId }),
          status: { _tag: "Started", startTime },
          attribute: (key, value) => void attributes.set(key, value),
          event: () => {},
          addLinks: () => {},
          end: () => void ended.push({ span, parent: Option.getOrUndefined(parent), attributes })
        }
        return span
      }
    })
    const traces = yield* Effect.provide(
      AgentTraces,
      Layer.provide(GenAiTraces.layer({ content: false }), Layer.setTracer(tracer))
    )
    if (traces === undefined) return assert.fail("there are no traces")
    const result = yield* Effect.withTracer(use(traces), tracer)
    return { ended, result }
  })

const within = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`

describe("the place that is kept with work", () => {
  it.effect("is the request's, however deep the work is asked for", () =>
    Effect.gen(function* () {
      const { ended, result } = yield* recorded(({ here }) =>
        here.pipe(
          Effect.withSpan("JobStore.enqueue"),
          Effect.withSpan("Messages.send"),
          Effect.withSpan("POST", {
            parent: Tracer.externalSpan({ traceId: "a".repeat(32), spanId: "b".repeat(16) })
          })
        )
      )
      const request = ended.find(({ span }) => span.name === "POST")?.span
      assert.strictEqual(result, `00-${"a".repeat(32)}-${request?.spanId}-01`)
    })
  )

  it.effect("is the turn's within its attempt, and the call's within the call of a tool", () =>
    Effect.gen(function* () {
      const turn = { ...place, within }
      const { ended, result } = yield* recorded((traces) =>
        traces.attempt(
          { kind: turnJobKind, subject: { type: "turn", id: turn.turnId }, within },
          Effect.all({
            ofTurn: Effect.withSpan(traces.here, "TurnStore.move"),
            ofCall: traces.hosted(
              turn,
              { tool: "delegate", callId: "1" },
              { work: Effect.withSpan(traces.here, "Delegations.spawn"), problemOf: () => undefined }
            )
          })
        )
      )
      const called = ended.find(({ span }) => span.name === "tools/call delegate")
      const moved = ended.find(({ span }) => span.name === "TurnStore.move")
      assert.strictEqual(called?.parent?.spanId, moved?.parent?.spanId)
      assert.strictEqual(result.ofTurn, `00-${"a".repeat(32)}-${moved?.parent?.spanId}-01`)
      assert.strictEqual(result.ofCall, `00-${"a".repeat(32)}-${called?.span.spanId}-01`)
    })
  )

  it.effect("is none outside of every trace", () =>
    Effect.map(
      recorded(({ here }) => here),
      ({ result }) => assert.isUndefined(result)
    )
  )
})

describe("the span of a turn", () => {
  it.effect("has the same ids in every process, and an error only where there is one", () =>
    Effect.gen(function* () {
      const { ended } = yield* recorded((traces) =>
        Effect.sync(() => {
          traces.modelCall(place, call)
          traces.turnEnded(end)
          traces.turnEnded({ ...end, state: "cancelled", reason: "user_cancelled" })
          traces.turnEnded({ ...end, state: "cancelled", startedAt: null })
        })
      )
      const [called, failed, cancelled, ...others] = ended
      assert.isEmpty(others)
      assert.strictEqual(called?.parent?.spanId, failed?.span.spanId)
      assert.strictEqual(called?.parent?.traceId, failed?.span.traceId)
      assert.strictEqual(failed?.attributes.get("error.type"), "timeout")
      assert.isFalse(cancelled?.attributes.has("error.type"))
      assert.isFalse(failed?.attributes.has("gen_ai.usage.input_tokens"))
    })
  )
})

describe("the variables", () => {
  it.effect("take the headers that Langfuse wants", () =>
    Effect.gen(function* () {
      const of = yield* otlpOf({
        OTEL_EXPORTER_OTLP_ENDPOINT: "https://cloud.langfuse.com/api/public/otel",
        OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Basic cGstbGY6c2stbGY=,x-langfuse-ingestion-version=4"
      })
      assert.deepStrictEqual(of?.headers, {
        Authorization: "Basic cGstbGY6c2stbGY=",
        "x-langfuse-ingestion-version": "4"
      })
    })
  )

  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" }
  const optIn = { OTEL_SEMCONV_STABILITY_OPT_IN: "database,gen_ai_latest_experimental" }
  const content = (value: string) => ({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: value })

  it.effect("turn agents on by one word of a list, and content by another variable", () =>
    Effect.gen(function* () {
      const genAiOf = (environment: NodeJS.ProcessEnv) =>
        Effect.map(otlpOf({ ...endpoint, ...environment }), (of) => of?.genAi)
      assert.isUndefined(yield* genAiOf({}))
      assert.isUndefined(yield* genAiOf({ OTEL_SEMCONV_STABILITY_OPT_IN: "gen_ai", ...content("SPAN_ONLY") }))
      assert.deepStrictEqual(yield* genAiOf(optIn), { content: false })
      for (const off of ["", "NO_CONTENT", "false"])
        assert.deepStrictEqual(yield* genAiOf({ ...optIn, ...content(off) }), { content: false })
      for (const on of ["SPAN_ONLY", "span_only", "true"])
        assert.deepStrictEqual(yield* genAiOf({ ...optIn, ...content(on) }), { content: true })
    })
  )

  it.effect("refuse content as events, which is not sent, and other words", () =>
    Effect.gen(function* () {
      for (const wrong of ["EVENT_ONLY", "SPAN_AND_EVENT", "canary"]) {
        const { message } = yield* Effect.flip(otlpOf({ ...endpoint, ...optIn, ...content(wrong) }))
        assert.match(message, /^OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT has to be NO_CONTENT or SPAN_ONLY/)
        assert.notInclude(message, "canary")
      }
      yield* otlpOf({ ...endpoint, ...content("canary") })
    })
  )
})
