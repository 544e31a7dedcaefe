import { Clock, Deferred, Effect, Option, Ref, Schema, Stream } from "effect"
import type { AgentProcess } from "../../executor/Executor.js"
import type { TurnInput } from "../TurnInput.js"
import { PermissionRequest, SessionUpdate } from "./AcpSchema.js"
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

const onPermission = Effect.fnUntraced(function* (turn: Turn, params: unknown) {
  const decoded = Schema.decodeUnknownOption(PermissionRequest)(params)
  if (Option.isNone(decoded)) return null
  const request = decoded.value
  const transcript = yield* Ref.get(turn.transcript)
  const about = Option.isSome(transcript) ? transcript.value.tool(request.toolCall) : []
  yield* turn.emit(about)
  if (yield* Ref.get(turn.cancelled)) return Effect.succeed(Permission.outcome(null))
  const { ask } = turn.input
  if (ask === undefined || Option.isNone(transcript) || request.options.length === 0) {
    return Effect.succeed(Permission.outcome(Permission.chosenBy(turn.settings, request)))
  }
  const requestId = `ask-${yield* Ref.updateAndGet(turn.asked, (count) => count + 1)}`
  yield* turn.emit([Permission.asked(requestId, request, about)])
  return awaitAnswer(turn, ask, transcript.value, request, requestId)
})

const onNotification = Effect.fnUntraced(function* (turn: Turn, method: string, params: unknown, line: string) {
  // Methods that begin with `_` or `$/` are extensions, which a client may ignore.
  if (method.startsWith("_") || method.startsWith("$/")) return
  if (method !== "session/update") return yield* turn.emit([Transcript.diagnostic("unknown_message", line)])
  const transcript = yield* Ref.get(turn.transcript)
  if (Option.isSome(transcript)) return yield* turn.emit(transcript.value.update(params, line))
  // Before the prompt, output is a replay. What holds for the session beyond a turn is noted, and told when the turn begins.
  const early = Schema.decodeUnknownOption(SessionUpdate)(params)
  if (Option.isSome(early)) turn.facts.update(early.value.update.sessionUpdate, early.value.update)
})

/** Makes the peer for the agent's side of the protocol. The agent's questions and notices become events of the turn. */
export const makePeer = (turn: Turn, process: AgentProcess): JsonRpc.Peer =>
  JsonRpc.make({
    lines: Stream.map(process.lines, turn.scrubber.scrub),
    write: process.write,
    onLine: (direction, line) =>
      Effect.zipRight(
        Effect.flatMap(Clock.currentTimeMillis, (now) => Ref.set(turn.lastLineAt, now)),
        turn.input.onLine?.(direction, turn.scrubber.scrub(line)) ?? Effect.void
      ),
    onNotification: (method, params, line) => onNotification(turn, method, params, line),
    onRequest: (method, params) =>
      method === "session/request_permission" ? onPermission(turn, params) : Effect.succeed(null),
    onUnparsed: (line) => turn.emit([Transcript.diagnostic("unparsed", line)])
  })
