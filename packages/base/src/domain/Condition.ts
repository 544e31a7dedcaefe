import { Effect } from "effect"
import type { ErrorCode, ReinsError } from "./ReinsError.js"

/**
 * Something that has to be true of a resource before a command may change it. Commands check their conditions with `requireAll`, and
 * `actionsOf` lists the commands that would pass, so that both go by the same rules.
 */
export interface Condition<in A, out Code extends ErrorCode = ErrorCode> {
  /** True when the condition does not stand in the way. */
  readonly holds: (subject: A) => boolean
  /** Says why the command is refused. It is made only when the condition does not hold. */
  readonly refusal: (subject: A) => ReinsError<Code>
}

/** The conditions of each of some commands. A command passes when all of its conditions hold. */
export type Rules<A, Name extends string> = { readonly [N in Name]: ReadonlyArray<Condition<A>> }

/** Fails with the refusal of the first condition that does not hold. */
export const requireAll = <A, Code extends ErrorCode>(
  conditions: ReadonlyArray<Condition<A, Code>>,
  subject: A
): Effect.Effect<void, ReinsError<Code>> => {
  const broken = conditions.find((condition) => !condition.holds(subject))
  return broken === undefined ? Effect.void : Effect.fail(broken.refusal(subject))
}

/** The names of the commands that would pass, in the order of the rules. */
export const actionsOf = <A, Name extends string>(rules: Rules<A, Name>): ((subject: A) => ReadonlyArray<Name>) => {
  // Boundary: the keys of an object are its names.
  const names = Object.keys(rules) as Array<Name>
  return (subject) => names.filter((name) => rules[name].every((condition) => condition.holds(subject)))
}
