import { Deferred, Effect, Option, Ref, Schema } from "effect"
import { approvalSubject } from "../../subjects/ApprovalSubjects.js"
import type { AskedFiles } from "../../subjects/AskedFiles.js"
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
  /** The call that it is about, and the question as it is now. */
  readonly about?: { readonly toolId: string; readonly now: (requestId: string) => Effect.Effect<Asked> }
  /** True for an answer that allows nothing. */
  readonly isRefusal?: (answer: QuestionAnswer) => boolean
  /** The answer to the agent, for that of a person. */
  readonly toAgent: (answer: QuestionAnswer | null) => Served
}

const digestOf = ({ subject }: Asked): string | null => subject?.digest ?? null

/**
 * Asks people, and waits. When the turn is cancelled, the question is withdrawn after the agent was told of the cancellation. A note that comes
 * with the answer is said to the agent once it has ended what it does. A call that changes while the question is open is told to people. One that was
 * allowed as it was before is asked for again.
 */
const awaitAnswer = (
  turn: RunningTurn,
  ask: NonNullable<TurnInput["ask"]>,
  asking: Asking
): Effect.Effect<Effect.Effect<Served>> =>
  Effect.gen(function* () {
    const { about, elicitationId, isRefusal = () => false, requestId, rpcId, toAgent } = asking
    let asked: Asked | undefined
    const revise = Effect.fnUntraced(function* (toolId: string) {
      if (asked === undefined || about?.toolId !== toolId) return
      const now = yield* about.now(requestId)
      if (now.subject == null || digestOf(now) === digestOf(asked)) return
      asked = now
      const { description, subject, title } = now
      yield* turn.emit([{ _tag: "revised", request_id: requestId, title, description, subject }])
    })
    const over = yield* Deferred.make<Served>()
    turn.questions.set(requestId, { requestId, rpcId, elicitationId, revise, over })
    const open = (question: Asked) =>
      Effect.zipRight(
        turn.emit([question]),
        Effect.sync(() => {
          asked = question
          return question
        })
      )
    // A question comes before all output after it, unless it has to wait.
    const question = Effect.isEffect(asking.question)
      ? Effect.tap(Effect.flatMap(asking.question, open), () => revise(about?.toolId ?? ""))
      : Effect.succeed(yield* open(asking.question))
    const answered = Effect.gen(function* () {
      const first = yield* question
      const answer = yield* ask(requestId)
      if (answer?.note !== null && answer?.note !== undefined) turn.talk.note(asked ?? first, answer)
      const isStale = asked !== undefined && answer?.seen != null && answer.seen !== digestOf(asked)
      if (answer === null || about === undefined || !isStale || isRefusal(answer)) return toAgent(answer)
      turn.questions.delete(requestId)
      const next = yield* nextId(turn)
      return yield* yield* awaitAnswer(turn, ask, { ...asking, requestId: next, question: yield* about.now(next) })
    })
    const cancelled = Effect.map(Deferred.await(turn.cancelSent), () => toAgent(null))
    return Effect.raceAll([answered, cancelled, Deferred.await(over)]).pipe(
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
  if (typeof toolId !== "string") return
  for (const { revise } of [...turn.questions.values()]) yield* revise?.(toolId) ?? Effect.void
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

/** Files that nobody reads. */
const noFiles = (root: string): AskedFiles => ({ roots: [root], read: () => Effect.succeed({ is: "unread" }) })

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
  const questionOf = (call: Tool | undefined, id = requestId) =>
    Effect.map(
      approvalSubject(call, request.toolCall, agent.input.files ?? noFiles(agent.input.workspaceDir)),
      (subject) => Permission.permissionQuestion(id, request, call, subject)
    )
  const { value: messages } = transcript
  return yield* awaitAnswer(turn, ask, {
    rpcId,
    requestId,
    question:
      call === undefined || isTold(call)
        ? yield* questionOf(call)
        : Effect.flatMap(nextMessageAbout(turn, messages, call.tool_id), (told) => questionOf(told)),
    ...(call !== undefined && {
      about: { toolId: call.tool_id, now: (id) => questionOf(messages.known(call.tool_id), id) }
    }),
    isRefusal: ({ option }) => Permission.isRefusal(request, option),
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
