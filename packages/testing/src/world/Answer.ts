/** An answer or a request of the other side, as it comes over the wire. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** Milliseconds between the two halves of the text. It comes in one write unless given. */
  readonly pauseMs?: number
  /** Milliseconds before the answer begins. */
  readonly delayMs?: number
  /** The share of the text after which the connection breaks. */
  readonly cut?: number
}

/**
 * The part of the truth that a change leaves:
 * - `same`: it is told in another way, so all is still read.
 * - `element`: one element may be odd, so the others are still read, and nothing is acted on that was not read.
 * - `lost`: nothing is told, so the reader says so in a sentence.
 */
export type ChangeKind = "same" | "element" | "lost"

/** One way in which the world may answer otherwise. */
export interface Change {
  readonly name: string
  readonly kind: ChangeKind
  readonly apply: (answer: Answer) => Answer
}

/** The way to a value in JSON: names of fields and places in lists. */
export type Path = ReadonlyArray<string | number>
