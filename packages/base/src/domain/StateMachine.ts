import { Effect } from "effect"
import { ReinsError } from "./ReinsError.js"

/** The moves that a resource may make. A state that maps to no other is terminal. */
export type Transitions<State extends string> = { readonly [S in State]: ReadonlyArray<State> }

/** The states of one kind of resource, and the moves between them. */
export interface StateMachine<State extends string> {
  /** The name of the resource in messages. */
  readonly resource: string
  readonly states: ReadonlyArray<State>
  readonly transitions: Transitions<State>
  /** The states that are not terminal, in the order of the drawing. */
  readonly ongoing: ReadonlyArray<State>
  readonly allows: (from: State, to: State) => boolean
  /** The states that may become this one, for the condition of an update that makes the move. */
  readonly sourcesOf: (to: State) => ReadonlyArray<State>
  /** True for a state without a move out of it. */
  readonly isTerminal: (state: State) => boolean
  /** The refusal of a move that is not drawn. */
  readonly refusal: (from: State, to: State) => ReinsError<"invalid_transition">
  /** Fails with `refusal` unless the move is drawn. */
  readonly check: (from: State, to: State) => Effect.Effect<void, ReinsError<"invalid_transition">>
}

/** A state machine of the given moves. `resource` is its name in messages. */
export const make = <State extends string>(resource: string, transitions: Transitions<State>): StateMachine<State> => {
  const allows = (from: State, to: State): boolean => transitions[from].includes(to)
  const isTerminal = (state: State): boolean => transitions[state].length === 0
  const refusal = (from: State, to: State): ReinsError<"invalid_transition"> =>
    new ReinsError({
      code: "invalid_transition",
      message: `A ${resource} that is ${from} cannot become ${to}.`,
      details: { resource, from, to, allowed: transitions[from] }
    })
  const states = Object.keys(transitions).filter((state): state is State => state in transitions)
  return {
    resource,
    states,
    transitions,
    ongoing: states.filter((state) => !isTerminal(state)),
    allows,
    sourcesOf: (to) => states.filter((from) => allows(from, to)),
    isTerminal,
    refusal,
    check: (from, to) => (allows(from, to) ? Effect.void : Effect.fail(refusal(from, to)))
  }
}
