import type { TypedEvent } from "@reins/core/domain/Event"
import { type Job, jobStates } from "@reins/core/domain/Job"
import { type Message, textOf } from "@reins/core/domain/Message"
import { type Turn, turnStates } from "@reins/core/domain/Turn"
import { Effect } from "effect"
import type { BodyFields, EndpointOf, Success } from "./Contract.js"
import * as EventStream from "./EventStream.js"
import type { EffectMethods } from "./effect/EffectMethods.js"
import type { ReinsClientError } from "./ReinsClientError.js"
import type { CallOptions, Transport } from "./Transport.js"

type SendEndpoint = Extract<EndpointOf<"messages">, { readonly name: "send" }>

/** A message to send, whose turn is waited for. */
export interface RunInput {
  /** The session, by its id. */
  readonly session_id: string
  /** The words of the message, or its blocks. */
  readonly content: BodyFields<SendEndpoint>["content"]
  /** Files that were uploaded to the session, by the `upload_id` of each. */
  readonly attachments?: BodyFields<SendEndpoint>["attachments"]
}

/** The result of a message. */
export interface Run {
  /** The ended turn; its `state` tells whether it succeeded and its `reason_message` why not. */
  readonly turn: Turn
  /** The agent's last message; null when it said nothing. */
  readonly message: Message | null
  /** The text of that message; empty when there is none. */
  readonly text: string
}

/** Waits for the end of turns and jobs. Turns are followed by their events, jobs are read again and again. Only `run` sends a message. */
export const make = (transport: Transport, methods: EffectMethods) => {
  /** Gives every event to the visitor until it answers true. The server was reached before, so it is awaited through restarts. */
  const follow = <E, R>(input: EventStream.StreamInput, visit: (event: TypedEvent) => Effect.Effect<boolean, E, R>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => EventStream.make(transport, input, Number.POSITIVE_INFINITY)),
      (reader) =>
        Effect.gen(function* () {
          while (true) {
            for (const event of yield* reader.pull) {
              if (yield* visit(event)) return
            }
          }
        }),
      (reader) => reader.close
    )

  const run = <E = never, R = never>(
    input: RunInput,
    onEvent: (event: TypedEvent) => Effect.Effect<void, E, R> = () => Effect.void,
    options: CallOptions = {}
  ): Effect.Effect<Run, ReinsClientError | E, R> =>
    Effect.gen(function* () {
      const { attachments, content, session_id } = input
      const sent: Success<SendEndpoint> = yield* methods.messages.send(
        { session_id, content, ...(attachments !== undefined && { attachments }) },
        options
      )
      const { event_watermark, turn_id } = sent
      if (turn_id === undefined) return yield* Effect.dieMessage("The server queued a message without a turn")
      const messages = new Map<string, Message>()
      let turn: Turn | undefined
      yield* follow({ session_id, turn_id, after: event_watermark }, (event) =>
        Effect.map(onEvent(event), () => {
          if (event.type === "message.completed") messages.set(event.payload.message.id, event.payload.message)
          turn = endOf(event, turn_id) ?? turn
          return turn !== undefined
        })
      )
      if (turn === undefined) return yield* Effect.dieMessage("The events ended before the turn")
      const message = messages.get(turn.outcome?.message_id ?? "") ?? null
      return { turn, message, text: textOf(message?.content ?? []) }
    })

  const waitForTurn = ({ turn_id }: { readonly turn_id: string }): Effect.Effect<Turn, ReinsClientError> =>
    Effect.gen(function* () {
      const first: Turn = yield* methods.turns.get({ turn_id })
      if (turnStates.isTerminal(first.state)) return first
      const { session_id } = first
      const { event_watermark } = yield* methods.sessions.get({ session_id })
      // The turn may have ended before the watermark, where its events are not looked for.
      let turn: Turn = yield* methods.turns.get({ turn_id })
      if (turnStates.isTerminal(turn.state)) return turn
      yield* follow({ session_id, turn_id, types: turnEnds, after: event_watermark }, (event) =>
        Effect.sync(() => {
          turn = endOf(event, turn_id) ?? turn
          return turnStates.isTerminal(turn.state)
        })
      )
      return turn
    })

  const waitForJob = ({ job_id }: { readonly job_id: string }): Effect.Effect<Job, ReinsClientError> => {
    const poll = (delayMs: number): Effect.Effect<Job, ReinsClientError> =>
      Effect.flatMap(methods.jobs.get({ job_id }), (job: Job) =>
        jobStates.isTerminal(job.state)
          ? Effect.succeed(job)
          : Effect.zipRight(Effect.sleep(delayMs), poll(Math.min(delayMs * 2, 2_000)))
      )
    return poll(100)
  }

  return { run, waitForTurn, waitForJob }
}

const turnEnds = ["turn.succeeded", "turn.failed", "turn.cancelled", "turn.interrupted"] as const

const endOf = (event: TypedEvent, turnId: string): Turn | undefined => {
  switch (event.type) {
    case "turn.succeeded":
    case "turn.failed":
    case "turn.cancelled":
    case "turn.interrupted":
      return event.payload.turn.id === turnId ? event.payload.turn : undefined
    default:
      return undefined
  }
}
