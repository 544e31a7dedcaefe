// Cuts texts and bytes for people. Nothing else in the product cuts them, because half of a character is no text: a lone surrogate becomes U+FFFD
// in UTF-8, and PostgreSQL and other readers refuse it.

/** A character that belongs to the one before it: a mark, which variation selectors are too, a joiner, a tone of skin. */
const joinsBefore = /^(?:\p{M}|\u200d|[\u{1f3fb}-\u{1f3ff}]|[\u{e0020}-\u{e007f}])/u

const joiner = "\u200d"

/** A chain of marks that is longer than this is cut between its code points. */
const longestChain = 32

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** True when a code point ends at this position. */
const isBetween = (text: string, at: number): boolean =>
  at <= 0 || at >= text.length || !(isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at)))

/** True when a character that people see ends at this position. */
const isBetweenSeen = (text: string, at: number): boolean =>
  isBetween(text, at) && text[at - 1] !== joiner && !joinsBefore.test(text.slice(at, at + 2))

const steppedTo = (text: string, at: number, step: 1 | -1): number => {
  const codePoint = isBetween(text, at) ? at : at + step
  for (let near = codePoint, left = longestChain; left > 0 && near > 0 && near < text.length; near += step, left--)
    if (isBetweenSeen(text, near)) return near
  return codePoint
}

/** The beginning of a text, at most `most` UTF-16 units, cut between characters. */
export const cutText = (text: string, most: number): string =>
  text.length <= most ? text : most <= 0 ? "" : text.slice(0, steppedTo(text, most, -1))

/** The end of a text, at most `most` UTF-16 units, cut between characters. */
export const cutEnd = (text: string, most: number): string =>
  text.length <= most ? text : most <= 0 ? "" : text.slice(steppedTo(text, text.length - most, 1))

/** The beginning of a text with `…` where it goes on, at most `most` UTF-16 units. */
export const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${cutText(text, most - 1)}…`

/** The pieces of a text, each at most `most` UTF-16 units. */
export const piecesOf = (text: string, most: number): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  for (let rest = text; rest !== ""; ) {
    const piece = cutText(rest, most) || rest.slice(0, 2)
    pieces.push(piece)
    rest = rest.slice(piece.length)
  }
  return pieces
}

const isContinued = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

const lengthFrom = (lead: number): number => (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1)

/** Bytes whose end was cut off anywhere, without a character that lost a part. */
export const wholeCharacters = (bytes: Buffer): Buffer => {
  let lead = bytes.length - 1
  while (lead > bytes.length - 4 && lead > 0 && isContinued(bytes[lead])) lead -= 1
  const isPart = lead >= 0 && lead + lengthFrom(bytes[lead] ?? 0) > bytes.length
  return isPart ? bytes.subarray(0, lead) : bytes
}

/** The text of bytes whose end was cut off anywhere: a character that lost a part is left out. */
export const textOfBeginning = (bytes: Buffer): string => wholeCharacters(bytes).toString("utf8")

/** The text of bytes whose beginning was cut off anywhere: a character that lost a part is left out. */
export const textOfEnd = (bytes: Buffer): string => {
  let from = 0
  while (from < 3 && isContinued(bytes[from])) from += 1
  return bytes.toString("utf8", from)
}
