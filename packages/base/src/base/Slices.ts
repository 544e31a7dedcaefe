import { Effect } from "effect"
import { turnOfTheLoop } from "./EventLoop.js"

/** So many characters are worked on before others are served. */
export const sliceLength = 64 * 1024

/** The pieces of a text. Each ends at white space, and is longer than a slice only where it has none there. */
export function* slicesOf(text: string): Generator<string> {
  const space = /\s/g
  for (let from = 0; from < text.length; ) {
    space.lastIndex = from + sliceLength
    const end = space.lastIndex < text.length && space.test(text) ? space.lastIndex : text.length
    yield text.slice(from, end)
    from = end
  }
}

/** Runs long work. It yields the characters that it has worked on, and others are served after each slice of them. */
export const inSlices = <A>(work: () => Generator<number, A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const running = work()
    const goOn: Effect.Effect<A> = Effect.suspend(() => {
      for (let done = 0; done < sliceLength; ) {
        const step = running.next()
        if (step.done) return Effect.succeed(step.value)
        done += step.value
      }
      return Effect.zipRight(turnOfTheLoop, goOn)
    })
    return goOn
  })
