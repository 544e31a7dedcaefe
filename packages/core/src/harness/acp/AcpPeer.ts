import { Clock, Effect, Option, Ref, Schema, Stream } from "effect"
import type { AgentProcess } from "../../executor/Executor.js"
import { onCancelRequest, onElicitation, onElicitationCompleted, onPermission } from "./AcpQuestions.js"
import { SessionUpdate } from "./AcpSchema.js"
import type { Turn } from "./AcpTurn.js"
import * as JsonRpc from "./JsonRpc.js"
import * as Transcript from "./Transcript.js"

const onNotification = Effect.fnUntraced(function* (turn: Turn, method: string, params: unknown, line: string) {
  if (method === "$/cancel_request") return yield* onCancelRequest(turn, params)
  if (method === "elicitation/complete") return yield* onElicitationCompleted(turn, params)
  // Other methods that begin with `_` or `$/` are extensions, which a client may ignore.
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
    onRequest: (method, params, id) => {
      if (method === "session/request_permission") return onPermission(turn, params, id)
      return method === "elicitation/create" ? onElicitation(turn, params, id) : Effect.succeed(null)
    },
    onUnparsed: (line) => turn.emit([Transcript.diagnostic("unparsed", line)])
  })
