import { whenAborted } from "./Abort.js"
import type { Clock } from "./Clock.js"
import type { LogReader } from "./EventStream.js"

export interface Iterated<Item> {
  readonly open: () => LogReader<Item> | Promise<LogReader<Item>>
  /** True for the event that is the last one. */
  readonly isLast: (event: Item) => boolean
  readonly clock: Clock
  readonly signal: AbortSignal | undefined
}

/** The events of a reader as a loop takes them. Leaving the loop closes the connection, also while an event is waited for. */
export const iterate = <Item>({ clock, isLast, open, signal }: Iterated<Item>): AsyncIterableIterator<Item> => {
  const stopped = new AbortController()
  let left = false
  const abort = () => stopped.abort(signal?.reason)
  const read = async function* (): AsyncGenerator<Item, undefined> {
    let reader: LogReader<Item> | undefined
    signal?.throwIfAborted()
    const stay = whenAborted(signal, abort)
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
      stay()
      reader?.close()
    }
  }
  const events = read()
  const iterator: AsyncIterableIterator<Item> = {
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
