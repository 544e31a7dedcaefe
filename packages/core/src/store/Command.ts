import { Effect, Effectable } from "effect"
import { traced } from "../base/Traced.js"
import type { Commit } from "./Commit.js"

/** Writes the answer to a request, in the commit that the answer tells of. */
export type RecordAnswer<A> = (result: A) => Effect.Effect<void, never, Commit>

/**
 * A change that a caller asks for. It may be prepared first, and ends in exactly one commit, whose result is the result of the command. Run as
 * an effect it answers no request. A sequence or a map of commands is an effect and no command, so no request is answered with a result that
 * was not committed.
 */
export interface Command<A, E = never> extends Effect.Effect<A, E> {
  /** Runs the command for a request, whose answer commits with it. */
  readonly answered: (record: RecordAnswer<A>) => Effect.Effect<A, E>
}

export const isCommand = <A, E>(effect: Effect.Effect<A, E> | Command<A, E>): effect is Command<A, E> =>
  effect instanceof PreparedCommand

/** The ways that a journal makes commands. The name is that of the span. */
export interface Commands {
  /** A command that is all commit. */
  readonly command: <A, E>(name: string, inside: Effect.Effect<A, E, Commit>) => Command<A, E>
  /** A command with work before its commit, such as hashing a password or writing a file. */
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
