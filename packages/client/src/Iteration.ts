import type { Clock } from "./Clock.js"
import type { EventReader, TypedEvent } from "./EventStream.js"

export interface Iterated {
  readonly open: () => EventReader | Promise<EventReader>
  /** True for the event that is the last one. */
  readonly isLast: (event: TypedEvent) => boolean
  readonly clock: Clock
  readonly signal: AbortSignal | undefined
}

/** The events of a reader as a loop takes them. Leaving the loop closes the connection, also while an event is waited for. */
export const iterate = ({ clock, isLast, open, signal }: Iterated): AsyncIterableIterator<TypedEvent> => {
  const stopped = new AbortController()
  let left = false
  const abort = () => stopped.abort(signal?.reason)
  const read = async function* (): AsyncGenerator<TypedEvent, undefined> {
    let reader: EventReader | undefined
    signal?.throwIfAborted()
    signal?.addEventListener("abort", abort)
    try {
      reader = await open()
      while (true) {
        await reader.wait({ clock, signal: stopped.signal })
        for (const event of reader.take()) {
          const last = isLast(event)
          yield event
          signal?.throwIfAborted()
          if (last) return
        }
      }
    } catch (error) {
      if (!left) throw error
    } finally {
      signal?.removeEventListener("abort", abort)
      reader?.close()
    }
  }
  const events = read()
  const iterator: AsyncIterableIterator<TypedEvent> = {
    next: () => events.next(),
    // A generator alone would answer only after the next event.
    return: () => {
      left = true
      stopped.abort()
      return events.return(undefined)
    },
    [Symbol.asyncIterator]: () => iterator
  }
  return iterator
}
