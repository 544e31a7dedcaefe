import { Clock, Effect, Option, Ref, Schema, Stream } from "effect"
import type { AgentProcess } from "../../executor/Executor.js"
import { tellTurn } from "./AcpAgent.js"
import { onCancelRequest, onElicitation, onElicitationCompleted, onPermission, onToolUpdate } from "./AcpQuestions.js"
import { SessionNotification } from "./AcpSchema.js"
import type { AcpAgent } from "./AcpState.js"
import * as JsonRpc from "./JsonRpc.js"
import * as Transcript from "./Transcript.js"

const onNotification = Effect.fnUntraced(function* (agent: AcpAgent, method: string, params: unknown, line: string) {
  const turn = yield* Ref.get(agent.turn)
  if (method === "$/cancel_request" && turn !== undefined) return yield* onCancelRequest(turn, params)
  if (method === "elicitation/complete" && turn !== undefined) return yield* onElicitationCompleted(turn, params)
  // Other methods that begin with `_` or `$/` are extensions, which a client may ignore.
  if (method.startsWith("_") || method.startsWith("$/")) return
  if (method !== "session/update") return yield* tellTurn(agent)([Transcript.diagnostic("unknown_message", line)])
  const transcript = turn === undefined ? Option.none() : yield* Ref.get(turn.transcript)
  if (turn !== undefined && Option.isSome(transcript)) {
    yield* turn.emit(transcript.value.update(params, line))
    return yield* onToolUpdate(turn, params)
  }
  // Before its prompt a turn has no output of its own. What holds for the session beyond a turn is noted, and told when the next prompt is sent.
  const early = Schema.decodeUnknownOption(SessionNotification)(params)
  if (Option.isSome(early)) agent.facts.update(early.value.update.sessionUpdate, early.value.update)
})

const noteLine = Effect.fnUntraced(function* (agent: AcpAgent, direction: "in" | "out", line: string) {
  const turn = yield* Ref.get(agent.turn)
  if (turn !== undefined) yield* Effect.flatMap(Clock.currentTimeMillis, (now) => Ref.set(turn.lastLineAt, now))
  yield* agent.input.onLine?.(direction, agent.scrubber.scrub(line)) ?? Effect.void
})

/** Makes the peer for the agent's side of the protocol. The agent's questions and notices become events of the turn that runs. */
export const makePeer = (agent: AcpAgent, process: AgentProcess): JsonRpc.Peer =>
  JsonRpc.make({
    lines: Stream.map(process.lines, agent.scrubber.scrub),
    write: process.write,
    onLine: (direction, line) => noteLine(agent, direction, line),
    onNotification: (method, params, line) => onNotification(agent, method, params, line),
    onRequest: (method, params, id) => {
      if (method === "session/request_permission") return onPermission(agent, params, id)
      return method === "elicitation/create" ? onElicitation(agent, params, id) : Effect.succeed(null)
    },
    onUnparsed: (line) => tellTurn(agent)([Transcript.diagnostic("unparsed", line)])
  })
