import { type Signal, useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { type Failure, failureOf } from "./Failure.js"

/** Something that is read from the server. */
export interface Loaded<A> {
  /** The thing that is waited for, as in `the sessions of the workspace`. */
  readonly what: string
  /** Undefined until it is there. A later read leaves the older value until the new one has come. */
  readonly value: Signal<A | undefined>
  readonly failure: Signal<Failure | undefined>
  /** Reads it again. */
  readonly reload: () => void
}

/**
 * Reads when the component comes and whenever one of the keys changes. The first key says what it is: another one empties the value, while the
 * others leave it until the newer one has come. A read that is no longer wanted is dropped.
 */
export const useLoaded = <A>(
  what: string,
  read: (signal: AbortSignal) => Promise<A>,
  keys: ReadonlyArray<unknown>
): Loaded<A> => {
  const value = useSignal<A | undefined>(undefined)
  const failure = useSignal<Failure | undefined>(undefined)
  const count = useSignal(0)
  const reading = useRef(read)
  reading.current = read
  const shown = useRef("")
  const key = JSON.stringify(keys)
  const again = count.value
  const subject = JSON.stringify(keys[0])
  useEffect(() => {
    const given = new AbortController()
    if (shown.current !== subject) value.value = undefined
    shown.current = subject
    reading.current(given.signal).then(
      (answer) => {
        if (given.signal.aborted) return
        value.value = answer
        failure.value = undefined
      },
      (error) => {
        if (!given.signal.aborted) failure.value = failureOf(error)
      }
    )
    return () => given.abort()
  }, [key, subject, again, value, failure])
  return { what, value, failure, reload: () => void count.value++ }
}

/** Something that a person does, and whose end is awaited. */
export interface Action {
  /** Words for what goes on; undefined while nothing does. */
  readonly busy: Signal<string | undefined>
  readonly failure: Signal<Failure | undefined>
  /** Runs one work at a time. A failure is kept and shown; the answer is then undefined. */
  readonly run: <A>(doing: string, work: () => Promise<A>) => Promise<A | undefined>
}

/** A place for the actions of a component. */
export const useAction = (): Action => {
  const busy = useSignal<string | undefined>(undefined)
  const failure = useSignal<Failure | undefined>(undefined)
  return {
    busy,
    failure,
    run: async (doing, work) => {
      if (busy.peek() !== undefined) return undefined
      busy.value = doing
      failure.value = undefined
      try {
        return await work()
      } catch (error) {
        failure.value = failureOf(error)
        return undefined
      } finally {
        busy.value = undefined
      }
    }
  }
}

/** A page of a list, as the API gives it. */
interface Listed<A> {
  readonly items: ReadonlyArray<A>
  readonly next_cursor: string | null
}

/** A list that is read page by page. */
export interface Paged<A> extends Loaded<Listed<A>> {
  /** Reads the next page too, which is there while `next_cursor` is. */
  readonly more: () => void
}

/** `useLoaded` for a list. Another key begins with the first page again; a reload reads as many as were shown. */
export const usePages = <A>(
  what: string,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Listed<A>>,
  keys: ReadonlyArray<unknown>
): Paged<A> => {
  const key = JSON.stringify(keys)
  const wanted = useSignal({ key, pages: 1 })
  const pages = wanted.value.key === key ? wanted.value.pages : 1
  const loaded = useLoaded(
    what,
    async (signal) => {
      let page = await read(undefined, signal)
      const items = [...page.items]
      for (let at = 1; at < pages && page.next_cursor !== null; at++) {
        page = await read(page.next_cursor, signal)
        items.push(...page.items)
      }
      return { items, next_cursor: page.next_cursor }
    },
    [...keys, pages]
  )
  const more = () => {
    wanted.value = { key, pages: pages + 1 }
  }
  return { ...loaded, more }
}

/** Does something again and again while it is wanted and the page is seen. */
export const useEvery = (ms: number, isWanted: boolean, act: () => void): void => {
  const acting = useRef(act)
  acting.current = act
  useEffect(() => {
    if (!isWanted) return
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") acting.current()
    }, ms)
    return () => clearInterval(timer)
  }, [ms, isWanted])
}
