import { Clock, Deferred, Duration, Effect, Fiber, Option, Ref, Stream } from "effect"
import type { AgentProcess } from "../../executor/Executor.js"
import type { Turn } from "./AcpTurn.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"

/** After its exit an agent's last lines are still in the pipe. */
const drainTimeout = "2 seconds"

/** Reads the agent until it is gone; then nothing that was asked will be answered. */
export const watchOutput = (turn: Turn, process: AgentProcess, peer: JsonRpc.Peer) =>
  Effect.gen(function* () {
    const reading = yield* Effect.forkScoped(Effect.exit(peer.run))
    yield* Effect.raceFirst(Fiber.join(reading), Effect.zipRight(process.exit, Effect.sleep(drainTimeout)))
    const exit = yield* Effect.timeoutOption(process.exit, drainTimeout)
    const how = Option.match(exit, {
      onNone: () => "it closed its output",
      onSome: ({ code, signal }) => (signal === null ? `exit code ${code}` : signal)
    })
    yield* Deferred.fail(turn.broken, Failures.crashed(turn.runtime, how))
  })

/** Takes from stderr what it tells of a failed model call, and ends a turn that the agent would go on with for nothing. */
export const watchStderr = (turn: Turn, process: AgentProcess) => {
  const { error, fatal } = turn.settings.stderr
  const text = (pattern: string | null, line: string) =>
    pattern === null ? undefined : new RegExp(pattern, "i").exec(line)?.[1]
  return Stream.runForEach(process.stderrLines, (raw) => {
    const line = turn.scrubber.scrub(raw)
    const fatalText = text(fatal, line)
    if (fatalText !== undefined) return Deferred.fail(turn.broken, Failures.reported(fatalText, turn))
    const report = text(error, line)
    return report === undefined ? Effect.void : Ref.set(turn.report, report)
  })
}

/** Silence counts only while the agent waits for its model: a tool may be quiet for as long as it runs, and so may a person who is asked. */
export const watchSilence = Effect.fnUntraced(function* (turn: Turn) {
  const limit = Duration.toMillis(turn.input.silenceTimeout ?? turn.settings.silence_timeout_ms)
  while (true) {
    const transcript = yield* Ref.get(turn.transcript)
    const now = yield* Clock.currentTimeMillis
    const hasOpenTool = Option.isSome(transcript) && transcript.value.hasOpenTool()
    if (hasOpenTool || (yield* Ref.get(turn.waiting)) > 0) yield* Ref.set(turn.lastLineAt, now)
    const left = (yield* Ref.get(turn.lastLineAt)) + limit - now
    if (left <= 0) {
      return yield* Deferred.fail(
        turn.broken,
        Failures.timedOut(turn.runtime, `got no answer from its model for ${limit / 1000} seconds`)
      )
    }
    yield* Effect.sleep(Math.min(left, 1000))
  }
})

/** Ends a turn that takes longer than it may. */
export const watchDeadline = Effect.fnUntraced(function* (turn: Turn) {
  const { deadline } = turn.input
  yield* Effect.sleep(deadline)
  yield* Deferred.fail(turn.broken, Failures.timedOut(turn.runtime, `did not end within ${Duration.format(deadline)}`))
})
