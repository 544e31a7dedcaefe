/** Draws a recording, an event a line, as an SVG. */
export const draw: (lines: ReadonlyArray<string>) => string
/** The recording in the repository, an event a line. */
export const recorded: () => ReadonlyArray<string>
