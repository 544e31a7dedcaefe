import type { IncomingMessage } from "node:http"

/** Bytes of bodies that may be held at once. What is made of a body while it is worked on is several times as large. */
const budget = 24 * 1024 * 1024
/** A body up to here is never held up: a few clients that send large ones and stop must not keep all others waiting. */
export const smallBytes = 16 * 1024

/** The share of one request: what has been read of its body, until it is answered. */
export interface BodyShare {
  /** Counts a piece that was read, and pauses the reading when all bodies together are too large. */
  readonly take: (bytes: number) => void
  /** The body is complete, or will not be read further. */
  readonly complete: () => void
  /** Nothing of the body is held any more. */
  readonly release: () => void
}

let held = 0
/** What of it belongs to bodies that are complete, whose requests end by themselves. */
let complete = 0
/** Those that are being read, the oldest first. */
const reading = new Set<IncomingMessage>()

/** While nothing much is being worked on the oldest is not paused, so that one ends and makes room. */
const isPaused = (incoming: IncomingMessage): boolean =>
  held > budget && (complete > budget / 4 || reading.values().next().value !== incoming)

const goOn = () => {
  for (const incoming of reading) if (incoming.isPaused() && !isPaused(incoming)) incoming.resume()
}

/** Holds up the reading of bodies when many large ones come at once, rather than the memory of the service. */
export const shareOf = (incoming: IncomingMessage): BodyShare => {
  let own = 0
  let isReleased = false
  reading.add(incoming)
  const end = () => {
    if (!reading.delete(incoming)) return
    complete += own
    goOn()
  }
  return {
    take: (bytes) => {
      own += bytes
      held += bytes
      if (own > smallBytes && isPaused(incoming)) incoming.pause()
    },
    complete: end,
    release: () => {
      if (isReleased) return
      isReleased = true
      end()
      complete -= own
      held -= own
      goOn()
    }
  }
}
