import type { Actor } from "@reins/base/domain/Event"
import { TurnId } from "@reins/base/domain/Ids"
import { systemActor } from "../../access/Access.js"
import type { Claim } from "../../jobs/Claim.js"
import type { RunningAttempt } from "../../jobs/JobKind.js"
import type { Message } from "../../sessions/rows/Message.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import type { Turn, TurnReason } from "../../sessions/rows/Turn.js"

/** The actor for the moves that the service itself makes. */
export const system = systemActor("turns")

/** The turn that a job runs. */
export const turnOf = (claim: Claim): TurnId => TurnId.make(claim.subject.id)

/** An attempt to run a turn. The turn, its session and its message are as they were when the attempt began. */
export interface TurnWork {
  readonly attempt: RunningAttempt
  readonly turn: Turn
  readonly session: SessionRow
  readonly message: Message
}

/** The reason that a turn has failed, with a sentence for people. */
export interface TurnProblem {
  readonly reason: TurnReason
  readonly message: string
}

/** The agent of a session, as the events name it. */
export const harnessActor = (session: SessionRow): Actor => ({ kind: "harness", id: session.provider_id })
