import { Lexer, type Token } from "marked"

/** The blocks of a text so far. Those before `settled` stay as they are while the text grows. */
export interface Blocks {
  readonly text: string
  readonly tokens: ReadonlyArray<Token>
  readonly settled: number
  /** The length of the text that the settled blocks are made of. */
  readonly length: number
}

export const noBlocks: Blocks = { text: "", tokens: [], settled: 0, length: 0 }

/** The next words may still change so many blocks at the end: a list goes on, or a line becomes part of the paragraph above. */
const open = 3

const lex = (text: string): ReadonlyArray<Token> => new Lexer({ gfm: true, breaks: false }).lex(text)

/** The blocks of a whole text. */
export const blocksOf = (text: string): Blocks => {
  const tokens = lex(text)
  return { text, tokens, settled: tokens.length, length: text.length }
}

/**
 * The blocks of a text that still grows. Only its end is read again, so that a long text costs no more with each word. The definitions of links are
 * found for the text as a whole, once it is complete.
 */
export const grown = (before: Blocks, text: string): Blocks => {
  const isLonger = text.startsWith(before.text)
  const kept = isLonger ? before.tokens.slice(0, before.settled) : []
  const from = isLonger ? before.length : 0
  const tokens = lex(text.slice(from))
  const settling = Math.max(0, tokens.length - open)
  const length = tokens.slice(0, settling).reduce((sum, { raw }) => sum + raw.length, from)
  return { text, tokens: [...kept, ...tokens], settled: kept.length + settling, length }
}
