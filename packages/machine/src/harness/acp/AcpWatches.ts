import { stripVTControlCharacters } from "node:util"
import { cutText } from "@reins/base/base/CutText"
import type { ForeignText } from "@reins/base/base/ForeignText"
import { Clock, Deferred, Duration, Effect, Fiber, Option, Ref, Stream } from "effect"
import type { AgentProcess } from "../../executor/Executor.js"
import { lastWords } from "./AcpAgent.js"
import type { AcpAgent, RunningTurn } from "./AcpState.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"

/** The time limit for reading the last lines of an agent, which are still in the pipe after its exit. */
const drainTimeout = "2 seconds"

/** The lines of stderr that are kept for the failure of a start, and the length of each. */
const keptLines = 20
const maxLine = 1_000

/** Reads the agent's output until the agent is gone. No pending request is answered after that. `stderr` reads its other output. */
export const watchOutput = (
  agent: AcpAgent,
  process: AgentProcess,
  peer: JsonRpc.Peer,
  stderr: Fiber.Fiber<unknown, unknown>
) =>
  Effect.gen(function* () {
    const reading = yield* Effect.forkScoped(Effect.exit(peer.run))
    yield* Effect.raceFirst(Fiber.join(reading), Effect.zipRight(process.exit, Effect.sleep(drainTimeout)))
    const exit = yield* Effect.timeoutOption(process.exit, drainTimeout)
    const how = Option.match(exit, {
      onNone: () => "it closed its output",
      onSome: ({ code, signal }) => (signal === null ? `exit code ${code}` : signal)
    })
    const ended = {
      how,
      byItself: Option.getOrUndefined(exit)?.signal === null,
      reason: Option.getOrUndefined(exit)?.reason
    }
    if (!(yield* Ref.get(agent.isStarting))) {
      yield* Deferred.fail(agent.broken, Failures.crashed(agent.runtime, how, ended.reason))
      return
    }
    yield* Effect.timeoutOption(Fiber.await(stderr), drainTimeout)
    yield* Deferred.fail(agent.broken, Failures.endedAtStart(agent.runtime, ended, yield* lastWords(agent)))
  })

/** Reads stderr for reports of a failed model call, and ends an agent that would continue in vain. */
export const watchStderr = (agent: AcpAgent, process: AgentProcess) => {
  const { error, fatal } = agent.settings.stderr
  const text = (pattern: string | null, line: ForeignText) =>
    pattern === null ? undefined : new RegExp(pattern, "i").exec(line)?.[1]
  return Stream.runForEach(process.stderrLines, (raw) => {
    const line = Failures.heard(agent.scrubber.scrub(raw))
    const keep = Ref.update(agent.lastLines, (lines) =>
      [...lines, cutText(stripVTControlCharacters(line), maxLine)].slice(-keptLines)
    )
    const fatalText = text(fatal, line)
    if (fatalText !== undefined) return Deferred.fail(agent.broken, Failures.reported(Failures.heard(fatalText), agent))
    const report = text(error, line)
    return report === undefined ? keep : Effect.zipRight(keep, Ref.set(agent.report, report))
  })
}

/**
 * Ends a turn in which the agent is silent for too long while it waits for its model. A tool that runs may be silent for longer, and so may a
 * person who is asked and a call that the service holds.
 */
export const watchSilence = Effect.fnUntraced(function* (turn: RunningTurn) {
  const { isHeld = () => false } = turn.input
  const limit = Duration.toMillis(turn.input.silenceTimeout ?? turn.settings.silence_timeout_ms)
  while (true) {
    const transcript = yield* Ref.get(turn.transcript)
    const now = yield* Clock.currentTimeMillis
    const hasOpenTool = Option.isSome(transcript) && transcript.value.hasOpenTool()
    if (hasOpenTool || turn.questions.size > 0 || isHeld()) yield* Ref.set(turn.lastLineAt, now)
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

/** Ends a turn whose agent can give no result any more. */
export const watchAgent = (turn: RunningTurn) =>
  Effect.catchAll(Deferred.await(turn.agent.broken), (failure) => Deferred.fail(turn.broken, failure))

/** Ends a turn that exceeds its time limit. */
export const watchDeadline = Effect.fnUntraced(function* (turn: RunningTurn) {
  const { deadline } = turn.input
  yield* Effect.sleep(deadline)
  yield* Deferred.fail(turn.broken, Failures.timedOut(turn.runtime, `did not end within ${Duration.format(deadline)}`))
})
