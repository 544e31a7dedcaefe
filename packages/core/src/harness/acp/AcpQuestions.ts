import { Deferred, Effect, Option, Ref, Schema } from "effect"
import type { Asked } from "../HarnessEvent.js"
import type { QuestionAnswer, TurnInput } from "../TurnInput.js"
import { CancelRequest, ElicitationCompleted, ElicitationRequest, PermissionRequest } from "./AcpSchema.js"
import type { AcpAgent, OpenQuestion, RunningTurn } from "./AcpState.js"
import * as Elicitation from "./Elicitation.js"
import type { Served } from "./JsonRpc.js"
import * as Permission from "./Permission.js"

/** The answer to a request that the agent has withdrawn, as the protocol has it. */
const withdrawn: Served = { error: { code: -32800, message: "Request cancelled" } }

interface Asking {
  readonly rpcId: string | number
  readonly question: Asked
  readonly elicitationId?: unknown
  /** The answer to the agent, for that of a person. */
  readonly toAgent: (answer: QuestionAnswer | null) => Served
}

/**
 * Asks people, and waits. When the turn is cancelled, the question is withdrawn after the agent was told of the cancellation. A note that comes
 * with the answer is said to the agent once it has ended what it does.
 */
const awaitAnswer = Effect.fnUntraced(function* (
  turn: RunningTurn,
  ask: NonNullable<TurnInput["ask"]>,
  asking: Asking
) {
  const { elicitationId, question, rpcId, toAgent } = asking
  const { request_id: requestId } = question
  const open: OpenQuestion = { requestId, rpcId, elicitationId, over: yield* Deferred.make<Served>() }
  turn.questions.set(requestId, open)
  yield* turn.emit([question])
  const answered = Effect.map(ask(requestId), (answer) => {
    if (answer?.note !== null && answer?.note !== undefined) turn.talk.note(question, answer)
    return toAgent(answer)
  })
  const cancelled = Effect.map(Deferred.await(turn.cancelSent), () => toAgent(null))
  return Effect.raceAll([answered, cancelled, Deferred.await(open.over)]).pipe(
    Effect.ensuring(Effect.sync(() => turn.questions.delete(requestId)))
  )
})

const nextId = (turn: RunningTurn) =>
  Effect.map(
    Ref.updateAndGet(turn.asked, (count) => count + 1),
    (count) => `ask-${count}`
  )

/** The answer to `session/request_permission`; null for a request that cannot be read. */
export const onPermission = Effect.fnUntraced(function* (agent: AcpAgent, params: unknown, rpcId: string | number) {
  const decoded = Schema.decodeUnknownOption(PermissionRequest)(params)
  if (Option.isNone(decoded)) return null
  const request = decoded.value
  const turn = yield* Ref.get(agent.turn)
  // Nobody has asked the agent for anything, so nobody can decide about it.
  if (turn === undefined) return Effect.succeed(Permission.permissionResponse(null))
  const transcript = yield* Ref.get(turn.transcript)
  const about = Option.isSome(transcript) ? transcript.value.tool(request.toolCall) : []
  yield* turn.emit(about)
  if (yield* Ref.get(turn.cancelled)) return Effect.succeed(Permission.permissionResponse(null))
  const { ask, permissions = null } = turn.input
  const kind = about.find((event) => event._tag === "tool")?.kind ?? "other"
  const canAsk = ask !== undefined && Option.isSome(transcript)
  const decision = Permission.decided(turn.settings, request, { kind, policy: permissions, canAsk })
  const take = (optionId: string | null) => {
    if (Option.isSome(transcript) && Permission.isRefusal(request, optionId)) transcript.value.refuse()
    return Permission.permissionResponse(optionId)
  }
  if (decision !== undefined || ask === undefined) {
    const chosen = decision ?? null
    return Effect.succeed(permissions === null ? Permission.permissionResponse(chosen) : take(chosen))
  }
  return yield* awaitAnswer(turn, ask, {
    rpcId,
    question: Permission.permissionQuestion(yield* nextId(turn), request, about),
    toAgent: (answer) => take(answer?.option ?? null)
  })
})

/** The answer to `elicitation/create`; null for a request that cannot be read. What nobody can be asked is declined. */
export const onElicitation = Effect.fnUntraced(function* (agent: AcpAgent, params: unknown, rpcId: string | number) {
  const decoded = Schema.decodeUnknownOption(ElicitationRequest)(params)
  if (Option.isNone(decoded)) return null
  const turn = yield* Ref.get(agent.turn)
  if (turn === undefined) return Effect.succeed<Served>(Elicitation.declined)
  const { ask } = turn.input
  const question = Elicitation.elicitationQuestion(yield* nextId(turn), decoded.value)
  const isTalking = Option.isSome(yield* Ref.get(turn.transcript)) && !(yield* Ref.get(turn.cancelled))
  if (ask === undefined || Option.isNone(question) || !isTalking) return Effect.succeed<Served>(Elicitation.declined)
  return yield* awaitAnswer(turn, ask, {
    rpcId,
    question: question.value,
    elicitationId: decoded.value.elicitationId,
    toAgent: Elicitation.elicitationResponse
  })
})

const withdraw = (turn: RunningTurn, { over, requestId }: OpenQuestion, answer: Served) =>
  Effect.zipRight(Deferred.succeed(over, answer), turn.emit([{ _tag: "withdrawn", request_id: requestId }]))

/** The agent does not want the answer to one of its requests any more. */
export const onCancelRequest = Effect.fnUntraced(function* (turn: RunningTurn, params: unknown) {
  const decoded = Schema.decodeUnknownOption(CancelRequest)(params)
  const open = [...turn.questions.values()].find(
    ({ rpcId }) => Option.isSome(decoded) && rpcId === decoded.value.requestId
  )
  if (open !== undefined) yield* withdraw(turn, open, withdrawn)
})

/** The page that somebody was to visit has done its work, so nobody needs to be asked any more. */
export const onElicitationCompleted = Effect.fnUntraced(function* (turn: RunningTurn, params: unknown) {
  const decoded = Schema.decodeUnknownOption(ElicitationCompleted)(params)
  const open = [...turn.questions.values()].find(
    ({ elicitationId }) => Option.isSome(decoded) && elicitationId === decoded.value.elicitationId
  )
  if (open !== undefined) yield* withdraw(turn, open, { result: { action: "accept" } })
})

/** Withdraws every question, because the agent is told to stop what it does. */
export const withdrawAll = (turn: RunningTurn) =>
  Effect.forEach(
    [...turn.questions.values()],
    (open) =>
      withdraw(
        turn,
        open,
        open.elicitationId === undefined ? Permission.permissionResponse(null) : Elicitation.elicitationResponse(null)
      ),
    { discard: true }
  )
