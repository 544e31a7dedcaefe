import { Deferred, Effect, Option, Ref, Schema } from "effect"
import type { Asked, Tool } from "../HarnessEvent.js"
import type { QuestionAnswer, TurnInput } from "../TurnInput.js"
import { CancelRequest, ElicitationCompleted, ElicitationRequest, PermissionRequest } from "./AcpSchema.js"
import type { AcpAgent, OpenQuestion, RunningTurn } from "./AcpState.js"
import * as Elicitation from "./Elicitation.js"
import type { Served } from "./JsonRpc.js"
import * as Permission from "./Permission.js"
import { isTold } from "./ShownCall.js"
import type { Transcript } from "./Transcript.js"
import { valueAt } from "./ValueAt.js"

/** The answer to a request that the agent has withdrawn, as the protocol has it. */
const withdrawn: Served = { error: { code: -32800, message: "Request cancelled" } }

interface Asking {
  readonly rpcId: string | number
  readonly requestId: string
  /** The question, or an effect that waits until enough is known of it. */
  readonly question: Asked | Effect.Effect<Asked>
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
  const { elicitationId, requestId, rpcId, toAgent } = asking
  const open: OpenQuestion = { requestId, rpcId, elicitationId, over: yield* Deferred.make<Served>() }
  turn.questions.set(requestId, open)
  const asked = (question: Asked) => Effect.as(turn.emit([question]), question)
  // A question comes before all output after it, unless it has to wait.
  const question = Effect.isEffect(asking.question)
    ? Effect.flatMap(asking.question, asked)
    : Effect.succeed(yield* asked(asking.question))
  const answered = Effect.gen(function* () {
    const about = yield* question
    const answer = yield* ask(requestId)
    if (answer?.note !== null && answer?.note !== undefined) turn.talk.note(about, answer)
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

/** The time that an agent has to tell the input of a call after it has asked for it, in milliseconds. */
const lateInputMs = 2000

/** A message about a tool call has come. */
export const onToolUpdate = Effect.fnUntraced(function* (turn: RunningTurn, params: unknown) {
  const toolId = valueAt(params, ["update", "toolCallId"])
  const awaited = typeof toolId === "string" ? turn.awaited.get(toolId) : undefined
  if (awaited !== undefined) yield* Deferred.succeed(awaited, undefined)
})

/** A call after the next message about it. One agent asks for the call of a server's tool first, and tells its input right after that. */
const nextMessageAbout = Effect.fnUntraced(function* (turn: RunningTurn, transcript: Transcript, toolId: string) {
  const told = yield* Deferred.make<void>()
  turn.awaited.set(toolId, told)
  const known = transcript.known(toolId)
  // It may have come before this began.
  if (known !== undefined && isTold(known)) yield* Deferred.succeed(told, undefined)
  yield* Deferred.await(told).pipe(
    Effect.timeoutOption(lateInputMs),
    Effect.ensuring(Effect.sync(() => turn.awaited.delete(toolId)))
  )
  return transcript.known(toolId)
})

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
  const call = about.find((event) => event._tag === "tool")
  const kind = call?.kind ?? "other"
  const canAsk = ask !== undefined && Option.isSome(transcript)
  const decision = Permission.decided(turn.settings, request, { kind, policy: permissions, canAsk })
  const take = (optionId: string | null) => {
    if (Option.isSome(transcript) && Permission.isRefusal(request, optionId)) transcript.value.refuse()
    return Permission.permissionResponse(optionId)
  }
  if (decision !== undefined || ask === undefined || Option.isNone(transcript)) {
    const chosen = decision ?? null
    return Effect.succeed(permissions === null ? Permission.permissionResponse(chosen) : take(chosen))
  }
  const requestId = yield* nextId(turn)
  const questionOf = (call: Tool | undefined) => Permission.permissionQuestion(requestId, request, call)
  return yield* awaitAnswer(turn, ask, {
    rpcId,
    requestId,
    question:
      call === undefined || isTold(call)
        ? questionOf(call)
        : Effect.map(nextMessageAbout(turn, transcript.value, call.tool_id), questionOf),
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
    requestId: question.value.request_id,
    question: Effect.succeed(question.value),
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
