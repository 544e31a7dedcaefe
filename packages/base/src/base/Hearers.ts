import { Effect } from "effect"

/**
 * The rooms above that hear of something in the very commit that does it, in the order in which they registered. They register while their
 * services are built, so that the room below need not know them. What is to follow a commit is told by `Journal.afterCommit`.
 */
export interface Hearers<Hearer> {
  /** Adds one for as long as the service lives. */
  readonly register: (hearer: Hearer) => Effect.Effect<void>
  /** Tells each that wants to know. The first failure ends it. */
  readonly tell: <E, R>(notice: (hearer: Hearer) => Effect.Effect<void, E, R> | undefined) => Effect.Effect<void, E, R>
  /** The first answer that is not undefined. */
  readonly ask: <A, E, R>(
    question: (hearer: Hearer) => Effect.Effect<A | undefined, E, R> | undefined
  ) => Effect.Effect<A | undefined, E, R>
}

export const makeHearers = <Hearer>(): Hearers<Hearer> => {
  const hearers: Array<Hearer> = []
  return {
    register: (hearer) => Effect.sync(() => void hearers.push(hearer)),
    tell: (notice) => Effect.forEach(hearers, (hearer) => notice(hearer) ?? Effect.void, { discard: true }),
    ask: Effect.fnUntraced(function* (question) {
      for (const hearer of hearers) {
        const answer = yield* question(hearer) ?? Effect.succeed(undefined)
        if (answer !== undefined) return answer
      }
      return undefined
    })
  }
}
