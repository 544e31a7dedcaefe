/** The tables of docs/scale.md, from the text of docs/performance.md. */
export const arithmetic: (performance: string) => string
/** The text of docs/scale.md with its tables made anew. */
export const written: (page: string, performance: string) => string
