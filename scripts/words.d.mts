/** A sentence of a page: the line where it begins, its words by number, and its text. */
export interface Sentence {
  readonly line: number
  readonly words: number
  readonly text: string
}
/** The sentences of the prose of a page, in their order. */
export const sentencesOf: (markdown: string) => ReadonlyArray<Sentence>
/** What is wrong with the sentences of a page, each as `path:line: ...`. */
export const findingsOf: (page: string, markdown: string) => ReadonlyArray<string>
