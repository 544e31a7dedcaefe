/** What the database does for a request. */
interface Work {
  readonly statements: ReadonlyArray<string>
  readonly trees: ReadonlyArray<string>
}
export const allowedWork: Readonly<
  Record<
    "GET a session" | "GET a page of events" | "POST a session" | "POST a note",
    { readonly statements: number; readonly trees: number }
  >
>
export const overhear: (hear: (statement: string) => void) => () => void
export const leastWork: (of: {
  /** The path of the file. */
  readonly database: string
  /** Everything that was overheard. */
  readonly heard: () => ReadonlyArray<string>
  readonly before?: () => Promise<unknown>
  readonly run: () => Promise<unknown>
  readonly times?: number
}) => Promise<Work>
