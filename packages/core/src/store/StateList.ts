/**
 * States as the inside of an SQL `in (...)`. They stand in the text of the statement, because a partial index on a state is used for literals
 * only, not for bound values.
 */
export const stateList = (states: ReadonlyArray<string>): string => states.map((state) => `'${state}'`).join(", ")
