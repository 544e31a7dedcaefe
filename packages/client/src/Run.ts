import type { TypedEvent } from "./EventStream.js"
import type { RunResult } from "./Following.js"
import type { SentMessage } from "./generated/Resources.js"

/**
 * A message that is on its way, and the turn that works on it. The message is sent at once. `for await` gives the events of the turn as they
 * come and ends with it; `final` and `text` wait for the end, with a loop or without. Lost connections and restarts of the server are come
 * through. The end of waiting, by `break` or by a signal, is not the end of the turn.
 */
export interface Run extends AsyncIterable<TypedEvent> {
  /** The answer to the message: the turn that was queued for it is its `turn_id`. Rejects when the message was refused. */
  readonly sent: () => Promise<SentMessage>
  /** The ended turn with the agent's last message. A turn that failed is a result too; its `state` tells. */
  readonly final: () => Promise<RunResult>
  /** The text of the agent's last message, once the turn has ended; empty when it said nothing. */
  readonly text: () => Promise<string>
}
