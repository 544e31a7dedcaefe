import type { ForeignText } from "@reins/base/base/ForeignText"
import { Deferred, Effect, Option, Ref, Schedule, Schema } from "effect"
import type { Emit } from "../HarnessDriver.js"
import type { HarnessEvent, HarnessFailure } from "../HarnessEvent.js"
import type { Runtime } from "../Manifest.js"
import { redactedOf, scrubber } from "../Secrets.js"
import type { AgentInput } from "../TurnInput.js"
import type { Requests } from "./AcpSchema.js"
import type { AcpSettings } from "./AcpSettings.js"
import type { AcpAgent, RunningTurn } from "./AcpState.js"
import { AgentFacts } from "./AgentFacts.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"
import { UsageMeter } from "./UsageMeter.js"

/** An agent that has not been started. */
export const makeAgent = Effect.fnUntraced(function* (input: AgentInput, runtime: Runtime, settings: AcpSettings) {
  const answered = yield* Deferred.make<void>()
  yield* Deferred.succeed(answered, undefined)
  const agent: AcpAgent = {
    input,
    runtime,
    settings,
    scrubber: scrubber(
      {
        ...redactedOf(input.environment),
        ...input.connection?.secrets,
        ...Object.fromEntries((input.toolServers ?? []).map(({ name, token }) => [`tool_server_${name}`, token])),
        ...(input.passage && { passage: input.passage.url })
      },
      input.connection?.told
    ),
    broken: yield* Deferred.make<never, HarnessFailure>(),
    report: yield* Ref.make(""),
    lastLines: yield* Ref.make<ReadonlyArray<string>>([]),
    meter: new UsageMeter(),
    turn: yield* Ref.make<RunningTurn | undefined>(undefined),
    opening: yield* Ref.make<ReadonlyArray<HarnessEvent>>([]),
    isStarting: yield* Ref.make(true),
    offered: yield* Ref.make({}),
    facts: new AgentFacts(),
    answered: yield* Ref.make(answered)
  }
  return agent
})

/** Tells the turn that runs. The start of the agent belongs to its first turn, and what is said between two turns to none. */
export const tellTurn = (agent: AcpAgent): Emit =>
  Effect.fnUntraced(function* (events) {
    const turn = yield* Ref.get(agent.turn)
    if (turn !== undefined) return yield* turn.emit(events)
    if (yield* Ref.get(agent.isStarting)) yield* Ref.update(agent.opening, (before) => [...before, ...events])
  })

/** Whatever waits for the agent: its start, or a turn of it. */
export interface Waiting {
  readonly runtime: Runtime
  readonly broken: Deferred.Deferred<never, HarnessFailure>
  /** Runs once a request is on its way. */
  readonly sent?: Effect.Effect<unknown>
}

/** Waits for a result. Fails when there can be none any more. */
export const orBroken =
  ({ broken }: Waiting) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | HarnessFailure> =>
    Effect.raceFirst(effect, Deferred.await(broken))

/**
 * Sends the agent a request and waits for its answer or for the end of the agent. Fails with `RpcError` when the agent answers with an error.
 */
export const askAgent = <Method extends keyof Requests, A, I>(
  waiting: Waiting,
  peer: JsonRpc.Peer,
  method: Method,
  params: Requests[Method],
  schema: Schema.Schema<A, I>
) =>
  peer.request(method, params, waiting.sent).pipe(
    // A broken pipe means that the agent has ended. Its exit says more.
    Effect.catchTag("ExecutorError", () => Effect.never),
    Effect.flatMap((result) => Schema.decodeUnknown(schema)(result)),
    Effect.catchTag("ParseError", () => Effect.fail(Failures.protocolBroken(waiting.runtime, method))),
    orBroken(waiting)
  )

/** The failure for an error answer. The agent's words from outside the protocol come first. */
export const agentFailure = (agent: Failures.Reporting & Pick<AcpAgent, "report">) => (error: JsonRpc.RpcError) =>
  Effect.flatMap(Ref.get(agent.report), (report) =>
    Effect.fail(Failures.reported(report === "" ? Failures.rpcText(error) : Failures.heard(report), agent))
  )

/** The last words of an agent on stderr; empty for none. */
export const lastWords = ({ lastLines }: AcpAgent): Effect.Effect<ForeignText> =>
  Effect.map(Ref.get(lastLines), (lines) => Failures.heard(lines.join("\n").trim()))

/** The failure for an error answer to a step of the start. What the agent wrote to stderr may come a little after its answer. */
export const startFailure = (agent: AcpAgent) => (error: JsonRpc.RpcError) =>
  Effect.gen(function* () {
    const report = yield* Ref.get(agent.report)
    const text = report === "" ? Failures.rpcText(error) : Failures.heard(report)
    const schedule = Schedule.intersect(Schedule.spaced("20 millis"), Schedule.recurs(25))
    if (Failures.isBare(text)) yield* Effect.repeat(lastWords(agent), { until: (words) => words !== "", schedule })
    return yield* Failures.notStarted(text, yield* lastWords(agent), agent)
  })

/** Limits the time of a step of the start. */
export const inTime =
  (agent: AcpAgent) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | HarnessFailure> =>
    Effect.timeoutOption(effect, agent.settings.start_timeout_ms).pipe(
      Effect.flatMap(
        Option.match({
          onSome: Effect.succeed,
          onNone: () =>
            Effect.flatMap(lastWords(agent), (words) =>
              Effect.fail(Failures.timedOut(agent.runtime, "did not start in time", words))
            )
        })
      )
    )
