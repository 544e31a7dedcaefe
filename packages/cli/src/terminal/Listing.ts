const shown = 10

/** The first of a list for people, and the number of the others. */
export const some = (names: ReadonlyArray<string>): string =>
  `${names.slice(0, shown).join(", ")}${names.length > shown ? ` and ${names.length - shown} more` : ""}`
