import { Effect, Effectable } from "effect"
import { traced } from "../base/Traced.js"
import type { Commit } from "./Commit.js"

/** Writes the answer to a request, in the commit that the answer tells of. */
export type RecordAnswer<A> = (result: A) => Effect.Effect<void, never, Commit>

/**
 * What a caller commands: it may be prepared, and ends in exactly one commit, whose result is its own. As an effect it runs for nobody's
 * request. A sequence or a map of commands is an effect and no command, so a request cannot be answered with what was not committed.
 */
export interface Command<A, E = never> extends Effect.Effect<A, E> {
  /** Runs it for a request, whose answer commits with it. */
  readonly answered: (record: RecordAnswer<A>) => Effect.Effect<A, E>
}

export const isCommand = <A, E>(effect: Effect.Effect<A, E> | Command<A, E>): effect is Command<A, E> =>
  effect instanceof PreparedCommand

/** The ways that a journal makes commands. The name is that of the span. */
export interface Commands {
  /** A command that is all commit. */
  readonly command: <A, E>(name: string, inside: Effect.Effect<A, E, Commit>) => Command<A, E>
  /** A command that has to find out what to commit first, as by hashing a password or writing a file. */
  readonly prepared: <A, E, E2>(
    name: string,
    preparation: Effect.Effect<Effect.Effect<A, E, Commit>, E2>
  ) => Command<A, E | E2>
}

/** Commands whose commits are made by `commit`. */
export const commandsOf = (commit: <A, E>(inside: Effect.Effect<A, E, Commit>) => Effect.Effect<A, E>): Commands => {
  const prepared: Commands["prepared"] = (name, preparation) =>
    new PreparedCommand((record) =>
      traced(
        name,
        Effect.flatMap(preparation, (inside) => commit(record === undefined ? inside : Effect.tap(inside, record)))
      )
    )
  return {
    prepared,
    command: (name, inside) =>
      new PreparedCommand((record) => traced(name, commit(record === undefined ? inside : Effect.tap(inside, record))))
  }
}

class PreparedCommand<A, E> extends Effectable.Class<A, E> implements Command<A, E> {
  constructor(private readonly run: (record?: RecordAnswer<A>) => Effect.Effect<A, E>) {
    super()
  }
  commit(): Effect.Effect<A, E> {
    return this.run()
  }
  answered(record: RecordAnswer<A>): Effect.Effect<A, E> {
    return this.run(record)
  }
}
