import type { IncomingMessage } from "node:http"

/** The bytes of bodies that may be held at once. The values that are made of a body take several times as much. */
const budget = 24 * 1024 * 1024
/** The largest body that is never paused, because a few clients that send large ones and stop must not keep all others waiting. */
export const smallBytes = 16 * 1024

/** The bytes of the body of one request that are held until it is answered. */
export interface BodyShare {
  /** Counts a piece that was read, and pauses the reading when all bodies together are too large. */
  readonly take: (bytes: number) => void
  /** The body is complete, or will not be read further. */
  readonly complete: () => void
  /** The request is answered, and nothing of the body is held any more. */
  readonly release: () => void
}

let held = 0
/** The part of `held` that belongs to complete bodies, whose requests end by themselves. */
let complete = 0
/** The bodies that are being read, the oldest first. */
const reading = new Set<IncomingMessage>()

/** The oldest body is not paused while few complete ones are held, so that at least one ends and makes room. */
const isPaused = (incoming: IncomingMessage): boolean =>
  held > budget && (complete > budget / 4 || reading.values().next().value !== incoming)

const goOn = () => {
  for (const incoming of reading) if (incoming.isPaused() && !isPaused(incoming)) incoming.resume()
}

/** Counts the body of a request. When many large bodies come at once their reading is paused, so that the memory of the service stays bounded. */
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
