import { type Brand, Option, Schema } from "effect"
import { cutEnd, cutText } from "./CutText.js"

// Words of other programs, as the product keeps them: bounded before anything looks at them, on one line, without characters that nobody sees.

/** A text of another program that is bounded, so that a pattern over it takes a bounded time. */
export type ForeignText = string & Brand.Brand<"ForeignText">

/** The beginning of a text of another program, at most `most` UTF-16 units. */
export const bounded = (text: string, most: number): ForeignText => cutText(text, most) as ForeignText

/** The beginning and the end of a text of another program, at most `most` UTF-16 units and the sign of what is left out. */
export const endsOf = (text: string, most: number): ForeignText =>
  (text.length <= most ? text : `${cutText(text, most / 2)} … ${cutEnd(text, most / 2)}`) as ForeignText

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences that colour a terminal.
const colours = /\u001b\[[0-9;?]{0,16}[ -/]{0,4}[@-~]/g

/** Control characters, and characters that turn the direction of a text. */
const unseen = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** A text on one line of at most `most` UTF-16 units: colours are left out, what nobody sees is a space, and spaces are one. */
export const foreignName = (text: string, most: number): ForeignText =>
  cutText(
    bounded(text, most * 2)
      .replace(colours, "")
      .replace(unseen, " ")
      .replace(/\s+/g, " ")
      .trim(),
    most
  ).trimEnd() as ForeignText

/** True when a line of a text has the phrases in this order. The text and the phrases are compared in lower case. */
export const hasInOrder = (text: ForeignText, phrases: ReadonlyArray<string>): boolean =>
  text
    .toLowerCase()
    .split(/[\r\n]+/)
    .some((line) => {
      let at = 0
      return phrases.every((phrase) => {
        const found = line.indexOf(phrase, at)
        at = found + phrase.length
        return found >= 0
      })
    })

/** A name of another program: a text that `foreignName` has made fit. */
export const ForeignName = (most: number) =>
  Schema.transform(Schema.String, Schema.String, {
    strict: true,
    decode: (given) => foreignName(given, most),
    encode: (text) => text
  })

/** A field that adorns: null where it is absent or cannot be read, because nothing is decided by it. */
export const adorns = <A, I>(schema: Schema.Schema<A, I>) => {
  const read = Schema.decodeUnknownOption(schema)
  return Schema.optionalWith(
    Schema.transform(Schema.Unknown, Schema.NullOr(Schema.typeSchema(schema)), {
      strict: true,
      decode: (given) => Option.getOrNull(read(given)),
      encode: (value) => value
    }),
    { default: () => null }
  )
}
