import type { Fragment } from "@effect/sql/Statement"
import type { Database } from "./Database.js"

/**
 * States as the inside of an SQL `in (...)`. They stand in the text of the statement, because a partial index on a state is used for literals
 * only, not for bound values.
 */
export const stateList = (states: ReadonlyArray<string>): string => states.map((state) => `'${state}'`).join(", ")

/** A further condition of a list, for the state that a caller asks for; nothing where none is asked for. */
export const andState = ({ sql }: Database["Type"], state: string | undefined): Fragment =>
  state === undefined ? sql.literal("") : sql`and state = ${state}`
