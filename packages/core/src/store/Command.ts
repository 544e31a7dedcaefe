import { traced } from "@reins/base/base/Traced"
import { isPrincipal } from "@reins/base/domain/Principal"
import { Effect, Effectable } from "effect"
import type { Commit } from "./Commit.js"
import type { Authority, Commanded, Oversees, RefusalOf } from "./Oversight.js"

/** Writes the answer to a request, in the commit that the answer tells of. */
export type RecordAnswer<A> = (result: A) => Effect.Effect<void, never, Commit>

/**
 * A change that a caller asks for. It may be prepared first, and ends in exactly one commit, whose result is the result of the command. Run as
 * an effect it answers no request. A sequence or a map of commands is an effect and no command, so no request is answered with a result that
 * was not committed.
 */
export interface Command<A, E = never> extends Effect.Effect<A, E> {
  /** Its name, who gives it, and what about. */
  readonly commanded: Commanded
  /** Runs the command for a request, whose answer commits with it. */
  readonly answered: (record: RecordAnswer<A>) => Effect.Effect<A, E>
}

export const isCommand = <A, E>(effect: Effect.Effect<A, E> | Command<A, E>): effect is Command<A, E> =>
  effect instanceof PreparedCommand

/** The ways that a journal makes commands. The name is that of the span. */
export interface Commands {
  /** A command that is all commit. */
  readonly command: <A, E, const Z extends Authority>(
    name: string,
    authority: Z,
    inside: Effect.Effect<A, E, Commit>
  ) => Command<A, E | RefusalOf<Z>>
  /** A command with work before its commit, such as hashing a password or writing a file. */
  readonly prepared: <A, E, E2, const Z extends Authority>(
    name: string,
    authority: Z,
    preparation: Effect.Effect<Effect.Effect<A, E, Commit>, E2>
  ) => Command<A, E | E2 | RefusalOf<Z>>
}

/** Commands whose commits are made by `commit`, under the eyes of policy and audit. */
export const commandsOf = (
  commit: <A, E>(inside: Effect.Effect<A, E, Commit>) => Effect.Effect<A, E>,
  { before, inCommit }: Oversees
): Commands => {
  const make = <A, E, Z extends Authority>(
    name: string,
    authority: Z,
    run: (commitWhole: (inside: Effect.Effect<A, E, Commit>) => Effect.Effect<A, E>) => Effect.Effect<A, E>
  ): Command<A, E | RefusalOf<Z>> => {
    const commanded: Commanded = { ...authority, name }
    const written = inCommit(commanded)
    // Boundary: a policy is not asked where `RefusalOf` is never.
    const allowed = (isRefusable(authority) ? before(commanded) : Effect.void) as Effect.Effect<void, RefusalOf<Z>>
    return new PreparedCommand<A, E | RefusalOf<Z>>(commanded, (record) =>
      traced(
        name,
        Effect.zipRight(
          allowed,
          run((inside) =>
            commit(
              Effect.tap(inside, (result) =>
                record === undefined ? written : Effect.zipRight(written, record(result))
              )
            )
          )
        )
      )
    )
  }
  return {
    command: (name, authority, inside) => make(name, authority, (commitWhole) => commitWhole(inside)),
    prepared: <A, E, E2, Z extends Authority>(
      name: string,
      authority: Z,
      preparation: Effect.Effect<Effect.Effect<A, E, Commit>, E2>
    ) => make<A, E | E2, Z>(name, authority, (commitWhole) => Effect.flatMap(preparation, commitWhole))
  }
}

const isRefusable = ({ by, refusable }: Authority): boolean => refusable !== false && isPrincipal(by)

class PreparedCommand<A, E> extends Effectable.Class<A, E> implements Command<A, E> {
  constructor(
    readonly commanded: Commanded,
    private readonly run: (record?: RecordAnswer<A>) => Effect.Effect<A, E>
  ) {
    super()
  }
  commit(): Effect.Effect<A, E> {
    return this.run()
  }
  answered(record: RecordAnswer<A>): Effect.Effect<A, E> {
    return this.run(record)
  }
}
