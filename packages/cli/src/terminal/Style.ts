import { styleText } from "node:util"

/** True when the stream is a terminal and its reader has not asked for plain text (NO_COLOR, TERM=dumb). */
export const hasColors = (stream: NodeJS.WriteStream): boolean => stream.isTTY === true && stream.hasColors()

export type Style = "bold" | "cyan" | "dim" | "green" | "italic" | "red" | "underline" | "yellow"

/** Text in a style where a stream shows colours, and as it is elsewhere. */
export const painter = (stream: NodeJS.WriteStream): ((style: Style, text: string) => string) =>
  hasColors(stream) ? (style, text) => styleText(style, text) : (_, text) => text

/** Control characters but tabs and line ends, and characters that turn the direction of a text or mark one. */
const obeyed =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/**
 * Text of others without what a terminal would obey, such as escapes that move the cursor, name the window, type for its reader or turn the text
 * behind them. Lines and tabs stay.
 */
export const harmless = (text: string): string => text.replaceAll(/\r(?=\n)/g, "").replaceAll(obeyed, "\ufffd")

// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin a style
const style = /(\u001b\[[0-9;]{1,16}m)/

/** `harmless` for a line of ours, which keeps its styles. */
export const harmlessLine = (line: string): string =>
  line
    .split(style)
    .map((part, at) => (at % 2 === 1 ? part : harmless(part)))
    .join("")

/** JSON in which what a terminal would obey is escaped. */
export const harmlessJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(obeyed, (character) => {
    const code = character.charCodeAt(0).toString(16)
    return `\\u${code.padStart(4, "0")}`
  })
