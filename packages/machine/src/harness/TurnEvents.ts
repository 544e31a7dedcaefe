import { Effect, Mailbox, Stream } from "effect"
import type { Emit } from "./HarnessDriver.js"
import type { HarnessEvent, HarnessFailure, StopReason } from "./HarnessEvent.js"

/** The number of events that may wait for a reader before the agent has to wait too. */
const waitingEvents = 256

/** The events of a turn as they come, and last `ended`. The turn is interrupted when nobody reads any more. */
export const turnEvents = (
  turn: (emit: Emit) => Effect.Effect<StopReason, HarnessFailure>
): Stream.Stream<HarnessEvent, HarnessFailure> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const events = yield* Mailbox.make<HarnessEvent, HarnessFailure>({ capacity: waitingEvents })
      yield* turn((batch) => Effect.asVoid(events.offerAll(batch))).pipe(
        Effect.flatMap((stop_reason) => events.offer({ _tag: "ended", stop_reason })),
        Mailbox.into(events),
        Effect.forkScoped
      )
      return Mailbox.toStream(events)
    })
  )
