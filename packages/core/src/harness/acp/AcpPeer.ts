import { Clock, Deferred, Effect, Option, Ref, Schema, Stream } from "effect"
import type { AgentProcess } from "../../executor/Executor.js"
import type { TurnInput } from "../TurnInput.js"
import { type AcpAgent, tell } from "./AcpAgent.js"
import { PermissionRequest } from "./AcpSchema.js"
import type { Turn } from "./AcpTurn.js"
import * as JsonRpc from "./JsonRpc.js"
import * as Permission from "./Permission.js"
import * as Transcript from "./Transcript.js"

/** Waits for the answer of a person. When the turn is cancelled, the question is withdrawn after the agent was told of the cancellation. */
const awaitAnswer = Effect.fnUntraced(function* (
  turn: Turn,
  ask: NonNullable<TurnInput["ask"]>,
  transcript: Transcript.Transcript,
  request: PermissionRequest,
  requestId: string
) {
  yield* Ref.update(turn.waiting, (count) => count + 1)
  const cancelled = Effect.as(Deferred.await(turn.cancelSent), null)
  const optionId = yield* Effect.raceFirst(ask(requestId), cancelled).pipe(
    Effect.ensuring(Ref.update(turn.waiting, (count) => count - 1))
  )
  if (Permission.isRefusal(request, optionId)) transcript.refuse()
  return Permission.outcome(optionId)
})

const refused = Effect.succeed(Permission.outcome(null))

const onPermission = Effect.fnUntraced(function* (agent: AcpAgent, params: unknown) {
  const decoded = Schema.decodeUnknownOption(PermissionRequest)(params)
  if (Option.isNone(decoded)) return null
  const request = decoded.value
  const turn = yield* Ref.get(agent.turn)
  // Nobody has asked the agent for anything, so nobody can decide about it.
  if (turn === undefined) return refused
  const transcript = yield* Ref.get(turn.transcript)
  const about = Option.isSome(transcript) ? transcript.value.tool(request.toolCall) : []
  yield* turn.emit(about)
  if (yield* Ref.get(turn.cancelled)) return refused
  const { ask } = turn.input
  if (ask === undefined || Option.isNone(transcript) || request.options.length === 0) {
    return Effect.succeed(Permission.outcome(Permission.chosenBy(turn.settings, request)))
  }
  const requestId = `ask-${yield* Ref.updateAndGet(turn.asked, (count) => count + 1)}`
  yield* turn.emit([Permission.asked(requestId, request, about)])
  return awaitAnswer(turn, ask, transcript.value, request, requestId)
})

const onNotification = Effect.fnUntraced(function* (agent: AcpAgent, method: string, params: unknown, line: string) {
  // Methods that begin with `_` or `$/` are extensions, which a client may ignore.
  if (method.startsWith("_") || method.startsWith("$/")) return
  if (method !== "session/update") return yield* tell(agent)([Transcript.diagnostic("unknown_message", line)])
  const turn = yield* Ref.get(agent.turn)
  if (turn === undefined) return
  const transcript = yield* Ref.get(turn.transcript)
  if (Option.isSome(transcript)) yield* turn.emit(transcript.value.update(params, line))
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
    onRequest: (method, params) =>
      method === "session/request_permission" ? onPermission(agent, params) : Effect.succeed(null),
    onUnparsed: (line) => tell(agent)([Transcript.diagnostic("unparsed", line)])
  })
