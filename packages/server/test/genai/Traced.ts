import { manifestsWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { type CollectedSpan, type OtlpCollector, otlpCollector } from "@reins/testing/otlp/OtlpCollector"
import { newCaller } from "@reins/testing/process/Caller"
import type { Place } from "@reins/testing/process/Place"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Exit, Scope } from "effect"
import { afterEach, assert, beforeEach } from "vitest"

/** A request of somebody who traces it. */
export const traceOf = (digit: string) => ({ traceId: digit.repeat(32), spanId: digit.repeat(16) })
export const headerOf = ({ spanId, traceId }: Pick<CollectedSpan, "spanId" | "traceId">) => `00-${traceId}-${spanId}-01`

interface Posted {
  readonly id: string
  readonly turn_id: string
  readonly operation: { readonly job_id: string }
}

/** Gives each test a collector of its own. */
export const collectorForEachTest = () => {
  let scope: Scope.CloseableScope
  let collector: OtlpCollector
  beforeEach(async () => {
    scope = await Effect.runPromise(Scope.make())
    collector = await Effect.runPromise(Scope.extend(otlpCollector, scope))
  })
  afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return {
    at: () => collector,
    /** Makes something that ends with the test. */
    inScope: <A>(make: Effect.Effect<A, never, Scope.Scope>) => Effect.runPromise(Scope.extend(make, scope))
  }
}

/** The variables of a server that sends to a collector. */
export const variablesFor = (
  place: Place,
  { endpoint }: OtlpCollector,
  more: Readonly<Record<string, string>> = {}
) => ({
  REINS_MANIFESTS_DIR: manifestsWithSmallAgent(place.directory, { callsTools: true }),
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_SEMCONV_STABILITY_OPT_IN: "http, gen_ai_latest_experimental,of_the_future",
  ...more
})

/** Somebody who works with a server by requests that are parts of traces. */
export const tracedCaller = async (server: ServerProcess, dataDir: string, gateway: Place["gateway"]) => {
  const caller = await newCaller(server, dataDir, gateway)
  let count = 0
  /** Posts a body as a part of a trace, and gives the answer. */
  const post = async (to: ServerProcess, path: string, body: object, traceparent?: string) => {
    const response = await fetch(`${to.url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${caller.apiKey}`,
        "content-type": "application/json",
        "idempotency-key": `traced-${++count}`,
        ...(traceparent !== undefined && { traceparent })
      },
      body: JSON.stringify(body)
    })
    assert.isBelow(response.status, 300, await response.clone().text())
    // Boundary: the answers to what these tests post.
    return (await response.json()) as Posted
  }
  return { ...caller, post }
}

/** Stops a server in order, so that it sends what is left. */
export const stopInOrder = async (server: ServerProcess): Promise<void> => {
  server.kill("SIGTERM")
  assert.deepStrictEqual(await server.ended, { code: 0, signal: null })
}

export const startTraced = (place: Place, env: Readonly<Record<string, string>>) =>
  startServer({ dataDir: place.dataDir, env })

/** The only span that a condition is true of. */
export const onlySpan = (
  { spans }: Pick<OtlpCollector, "spans">,
  what: string,
  is: (span: CollectedSpan) => boolean
): CollectedSpan => {
  const found = spans.filter(is)
  assert.lengthOf(found, 1, `${what} among ${spans.map(({ name }) => name).join(", ")}`)
  return found[0] ?? assert.fail(what)
}

/** The spans of a turn with an operation. */
export const spansOf = ({ spans }: Pick<OtlpCollector, "spans">, turnId: string, operation: string) =>
  spans.filter(
    ({ attributes }) => attributes["reins.turn.id"] === turnId && attributes["gen_ai.operation.name"] === operation
  )

/** The span of a turn, of which there is one. */
export const turnSpan = (collector: Pick<OtlpCollector, "spans">, turnId: string): CollectedSpan => {
  const [span, ...others] = spansOf(collector, turnId, "invoke_agent")
  assert.isEmpty(others)
  return span ?? assert.fail(`no span of ${turnId}`)
}

export const untilReceived = (what: string, ask: () => boolean) => eventually(what, ask)
