import { Effect, Schema } from "effect"
import { systemActor } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import type { Actor } from "../domain/Event.js"
import { MessageId, type SessionId, TurnId } from "../domain/Ids.js"
import { MessagePart } from "../domain/Message.js"
import { type Turn, turnStates } from "../domain/Turn.js"
import { EventLog } from "../events/EventLog.js"
import type { Loss } from "../jobs/Claim.js"
import type { JobKind } from "../jobs/JobKind.js"
import { Leases } from "../sessions/Leases.js"
import { Messages } from "../sessions/Messages.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import { type TurnEnd, Turns, userCancelled } from "../sessions/Turns.js"
import { Journal } from "../store/Journal.js"
import { describeFault, type StorageFault } from "../store/StorageFault.js"
import { TurnSetup } from "./TurnSetup.js"

const system = systemActor("turns")

/** Events that are read at once. */
const batch = 500

/** How a turn ends, above all one whose worker did not see its end. */
export const turnEndings = Effect.gen(function* () {
  const journal = yield* Journal
  const leases = yield* Leases
  const log = yield* EventLog
  const messages = yield* Messages
  const setup = yield* TurnSetup
  const store = yield* SessionStore
  const turns = yield* Turns

  /** Moves the turn to its end, or to `cancelled` when its cancellation came first. */
  const end = (turn: Turn, to: "succeeded" | "failed" | "interrupted", more: TurnEnd) =>
    Effect.flatMap(turns.find(turn.id), (found) => {
      if (found === undefined || turnStates.isTerminal(found.state)) return Effect.void
      return found.state === "cancelling"
        ? turns.move(turn.id, "cancelled", system, { ...more, ...userCancelled })
        : turns.move(turn.id, to, system, more)
    }).pipe(Effect.asVoid)

  /** What the log has of the agent's words in a turn; undefined when it said nothing. */
  const saidIn = Effect.fnUntraced(function* (turn: Turn) {
    const parts = new Map<string, SaidPart>()
    let messageId: MessageId | undefined
    let after = 0
    for (let isWhole = false; !isWhole; ) {
      const slice = yield* log.read(turn.session_id, after, batch)
      for (const { envelope, turn_id, type } of slice.events) {
        if (turn_id !== turn.id || !partTypes.has(type)) continue
        const { message_id, part } = (yield* Effect.orDie(decodePart(envelope))).payload
        messageId = message_id
        parts.set(part.part_key, {
          ...part,
          text: (part.mode === "append" ? (parts.get(part.part_key)?.text ?? "") : "") + String(part.content)
        })
      }
      after = slice.events.at(-1)?.seq ?? after
      isWhole = slice.isWhole || slice.events.length === 0
    }
    return messageId === undefined ? undefined : { messageId, parts: [...parts.values()] }
  })

  /** Makes a message of what the agent said before its end was lost, so that it stays readable as what came of the turn. Gives back the outcome that names it; undefined without words. */
  const keepSaid = Effect.fnUntraced(function* (turn: Turn, said: Effect.Effect.Success<ReturnType<typeof saidIn>>) {
    const session = yield* store.find(turn.session_id)
    if (said === undefined || session === undefined) return undefined
    const { messageId, parts } = said
    if ((yield* messages.find(messageId)) !== undefined) return undefined
    const actor: Actor = { kind: "harness", id: session.provider_id }
    yield* journal.append(
      session.id,
      actor,
      parts
        .filter(({ sealed }) => !sealed)
        .map(({ kind, part_key, revision }) => ({
          type: "message.part_updated" as const,
          payload: {
            message_id: messageId,
            part: { part_key, kind, revision: revision + 1, mode: "append" as const, content: "", sealed: true }
          },
          subjects: { turn_id: turn.id }
        }))
    )
    const content = parts.flatMap(({ kind, text }) =>
      kind === "text" && text !== "" ? [{ type: "text" as const, text }] : []
    )
    if (content.length === 0) return undefined
    yield* messages.complete(messageId, session, turn.id, actor, content)
    return { message_id: messageId, stop_reason: "error" }
  })

  /**
   * The command that ends a turn whose agent may have worked and whose end nobody saw. What the agent has left of its own state is what
   * the next turn goes on from.
   */
  const interrupt = Effect.fnUntraced(function* (session: SessionRow, turn: Turn, why: TurnEnd) {
    const native_digest = yield* setup.nativeDigest(session)
    const said = yield* saidIn(turn)
    return Effect.gen(function* () {
      yield* store.lock(session.id)
      yield* store.change(session.id, { native_digest })
      const outcome = yield* keepSaid(turn, said)
      yield* end(turn, "interrupted", { ...why, ...(outcome && { outcome }) })
    })
  })

  const requeue = Effect.fnUntraced(function* (sessionId: SessionId, turn: Turn, reason: TurnEnd["reason"]) {
    yield* store.lock(sessionId)
    // It may have been cancelled since it was looked at.
    if ((yield* turns.find(turn.id))?.state !== "preparing") return yield* end(turn, "failed", {})
    yield* turns.move(turn.id, "queued", system, reason === undefined ? {} : { reason })
  })

  const lost: JobKind["lost"] = fn("turnJob.lost")(function* (claim, loss) {
    const turn = yield* turns.find(TurnId.make(claim.subject.id))
    const session = turn === undefined ? undefined : yield* store.find(turn.session_id)
    if (turn === undefined || session === undefined) return { next: "failed" as const, command: Effect.void }
    // Nothing was begun for it, or nothing is left of it: what bears the lease of the session may belong to another turn by now.
    if (turn.state === "queued") return { next: "retry" as const, command: Effect.void }
    if (turnStates.isTerminal(turn.state)) return { next: "failed" as const, command: Effect.void }
    yield* leases.reap(session)
    const { reason, reasonMessage, requeuedFor } = endingOf(loss)
    // A worker that was only stopped ends what bears its lease when it goes on: the next agent must not bear the same.
    const loseLease = leases.lose(session.id, system, reason)
    if (turn.state === "preparing") {
      // Starting the agent may have changed its own state as well as working did.
      const settled = store.change(session.id, { native_digest: yield* setup.nativeDigest(session) })
      const command = Effect.all([loseLease, settled, requeue(session.id, turn, requeuedFor)], { discard: true })
      return { next: "retry" as const, command }
    }
    const ended = yield* interrupt(session, turn, { reason, reasonMessage })
    return { next: "failed" as const, command: Effect.zipRight(loseLease, ended) }
  })

  return { end, interrupt, keepSaid, lost, saidIn }
})

interface SaidPart extends MessagePart {
  readonly text: string
}

const partTypes: ReadonlySet<string> = new Set(["message.part_added", "message.part_updated"])

const decodePart = Schema.decodeUnknown(
  Schema.parseJson(Schema.Struct({ payload: Schema.Struct({ message_id: MessageId, part: MessagePart }) }))
)

const lookAndGoOn =
  "how far it came cannot be proven. Look at the changes, then acknowledge the turn to let the queue go on, or retry it."

/** How a turn ends whose worker was lost while the agent worked, and why one that was still being prepared waits again. */
const endingOf = (loss: Loss | StorageFault) => {
  if (loss === "ended") {
    const reasonMessage = `The service stopped while the agent worked, so ${lookAndGoOn}`
    return { reason: "service_restart", reasonMessage, requeuedFor: "service_restart" } as const
  }
  if (loss === "silent") {
    const reasonMessage = `The service stood still for longer than its claim on the turn while the agent worked, so ${lookAndGoOn}`
    return { reason: "outcome_unknown", reasonMessage, requeuedFor: "service_restart" } as const
  }
  const reasonMessage = `${describeFault(loss)}, so what the agent did could not be kept, and ${lookAndGoOn}`
  return { reason: "outcome_unknown", reasonMessage, requeuedFor: "waiting_capacity" } as const
}
