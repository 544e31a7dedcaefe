import { CoreConfig } from "@reins/base/base/CoreConfig"
import { actionsOf, type Condition, type Rules } from "@reins/base/domain/Condition"
import type { Principal } from "@reins/base/domain/Principal"
import { type ErrorCode, ReinsError } from "@reins/base/domain/ReinsError"
import type { Role } from "@reins/base/domain/Role"
import { Effect } from "effect"
import { canChange } from "../../access/Access.js"
import { Providers } from "../../catalog/Providers.js"
import { contextLost, notOpen, noWorkspace, queueFull, turnActive, worksForAnother } from "./Refusals.js"
import { leaseStates, type SessionAction, type SessionLifecycle, sessionStates } from "./Session.js"
import { leaseStateOf, type SessionRow } from "./SessionRow.js"
import { type Turn, type TurnAction, turnStates, unprovenTurnState, waitingTurnState } from "./Turn.js"

const condition = <Code extends ErrorCode>(
  holds: (session: SessionRow) => boolean,
  refusal: (session: SessionRow) => ReinsError<Code>
): Condition<SessionRow, Code> => ({ holds, refusal })

const mayBecome = (to: SessionLifecycle) =>
  condition(
    ({ lifecycle }) => sessionStates.allows(lifecycle, to),
    ({ lifecycle }) => sessionStates.refusal(lifecycle, to)
  )

const isOpen = condition(({ lifecycle }) => lifecycle === "open", notOpen)

const isNotClosed = condition(({ lifecycle }) => lifecycle !== "closed", notOpen)

/** No turn of the session has left the queue. */
const isAtRest = condition(({ turns }) => turns.active === null, turnActive)

const isIdle = condition((session) => !isWorking(session), turnActive)

/** A session that works for another one goes with that one alone. */
const worksForNobody = condition(
  ({ lineage }) => lineage.parent_session_id === null,
  ({ lineage }) => worksForAnother(lineage.parent_session_id)
)

const hasWorkingTree = condition(({ tree }) => tree.state === "ready", noWorkspace)

/** The agent can go on with what it knows of the conversation. */
const keepsContext = condition(({ agent }) => agent.context_lost === 0, contextLost)

/** There is a lease to end, or its end has begun. */
const hasLease = condition(
  (session) =>
    session.executor.lease?.state === "quiescing" ||
    isPreparing(session) ||
    leaseStates.allows(leaseStateOf(session), "quiescing"),
  (session) => leaseStates.refusal(leaseStateOf(session), "quiescing")
)

/** True while a turn of the session waits or runs. */
export const isWorking = ({ turns }: SessionRow): boolean => turns.active !== null || turns.queued > 0

/** True while a turn may still be preparing, whose lease is settled when it has stopped. */
export const isPreparing = (session: SessionRow): boolean =>
  isWorking(session) && session.executor.lease?.state === "allocating"

/** Another turn may wait in the session. */
export const queueRoom = (limit: number): Condition<SessionRow, "quota_exhausted"> =>
  condition(
    ({ turns }) => turns.queued < limit,
    (session) => queueFull(session, limit)
  )

/** The conditions of the commands on a session whose rules no setting changes. */
export const sessionRules = {
  activate_executor: [isOpen],
  archive: [mayBecome("archived"), isIdle],
  capture: [isAtRest, hasWorkingTree],
  close: [mayBecome("closed")],
  delegate: [isOpen],
  delete: [worksForNobody, isIdle],
  release_executor: [isNotClosed, isIdle, hasLease],
  switch_harness: [],
  unarchive: [mayBecome("open")],
  update: [isNotClosed],
  upload_file: [isOpen]
} satisfies Rules<SessionRow, Exclude<SessionAction, "send_message">>

/** The conditions under which the repository of a session gets another URL. */
export const repositoryRules = [isNotClosed, isIdle]

/** The conditions of a release that cancels the turns first. */
export const forcedRelease = [isNotClosed, hasLease]

/** The conditions under which a session takes part in an application of a changeset. */
export const applicationTarget = [isOpen, isAtRest, hasWorkingTree]

/** A turn with the session that it belongs to. */
export interface TurnInSession {
  readonly turn: Turn
  readonly session: SessionRow
}

const ofSession = <Code extends ErrorCode>({
  holds,
  refusal
}: Condition<SessionRow, Code>): Condition<TurnInSession, Code> => ({
  holds: ({ session }) => holds(session),
  refusal: ({ session }) => refusal(session)
})

/** A turn that is being cancelled stays as it is, because asking twice is not another move. */
const mayBeCancelled: Condition<TurnInSession, "invalid_transition"> = {
  holds: ({ turn }) => turn.state === "cancelling" || turnStates.allows(turn.state, cancelledFrom(turn)),
  refusal: ({ turn }) => turnStates.refusal(turn.state, cancelledFrom(turn))
}

const cancelledFrom = ({ state }: Turn): "cancelled" | "cancelling" =>
  state === waitingTurnState ? "cancelled" : "cancelling"

const hasEnded: Condition<TurnInSession, "invalid_transition"> = {
  holds: ({ turn }) => turnStates.isTerminal(turn.state),
  refusal: ({ turn }) => turnRefusal(turn, "Only a turn that has ended is tried again")
}

const goesOn: Condition<TurnInSession, "invalid_transition"> = {
  holds: ({ turn }) => !turnStates.isTerminal(turn.state),
  refusal: ({ turn }) => turnRefusal(turn, "Only a turn that has not ended can change")
}

const wasInterrupted: Condition<TurnInSession, "invalid_transition"> = {
  holds: ({ turn }) => turn.state === unprovenTurnState,
  refusal: ({ turn }) => turnRefusal(turn, "Only an interrupted turn is acknowledged")
}

/** Neither a retry nor an acknowledgement is a drawn move, so these words stand in the place of those of the state machine. */
const turnRefusal = ({ state }: Turn, rule: string): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message: `${rule}; this one is ${state}.`,
    details: { resource: "turn", from: state }
  })

/** Gives the rules that the settings and the providers of the installation complete, and what they let a principal do. */
export const configuredRules = Effect.gen(function* () {
  const { limits } = yield* CoreConfig
  const providers = yield* Providers
  const room = queueRoom(limits.queuedTurns)
  const hasModel = condition(
    ({ connection_id, model, provider_id }) => model !== null || !providers.needsModel(provider_id, connection_id),
    ({ connection_id, provider_id }) => modelRequired(provider_id, connection_id)
  )

  const all = { send_message: [isOpen, keepsContext, hasModel, room], ...sessionRules } satisfies Rules<
    SessionRow,
    SessionAction
  >
  const turns = {
    acknowledge: [wasInterrupted],
    cancel: [mayBeCancelled],
    retry: [hasEnded, ofSession(isOpen), ofSession(hasModel), ofSession(room)],
    update: [goesOn]
  } satisfies Rules<TurnInSession, TurnAction>
  const ofAll = actionsOf<SessionRow, SessionAction>(all)
  const ofTurns = actionsOf<TurnInSession, TurnAction>(turns)

  return {
    /** The conditions of a turn for a message, in a session that takes messages. */
    asking: [keepsContext, hasModel],
    turns,
    sessionActions: (principal: Principal, role: Role, session: SessionRow): ReadonlyArray<SessionAction> =>
      canChange(principal, role) ? ofAll(session) : [],
    turnActions: (principal: Principal, role: Role, subject: TurnInSession): ReadonlyArray<TurnAction> =>
      canChange(principal, role) ? ofTurns(subject) : []
  }
})

const modelRequired = (providerId: string, connectionId: string | null): ReinsError<"model_required"> =>
  new ReinsError({
    code: "model_required",
    message:
      `The provider ${providerId} runs with a model, and none is chosen. Name one as harness.model of a new session or as model of a PATCH of ` +
      "this one, or give the connection a preferred_model for sessions to come. GET /api/models lists them.",
    details: { provider_id: providerId, connection_id: connectionId }
  })
