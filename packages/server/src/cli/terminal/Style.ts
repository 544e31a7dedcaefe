import { styleText } from "node:util"

/** True when the stream is a terminal and its reader has not asked for plain text (NO_COLOR, TERM=dumb). */
export const hasColors = (stream: NodeJS.WriteStream): boolean => stream.isTTY === true && stream.hasColors()

export type Style = "bold" | "cyan" | "dim" | "green" | "red" | "yellow"

/** Text in a style where a stream shows colours, and as it is elsewhere. */
export const painter = (stream: NodeJS.WriteStream): ((style: Style, text: string) => string) =>
  hasColors(stream) ? (style, text) => styleText(style, text) : (_, text) => text

/**
 * Text of others without what a terminal would obey, such as escapes that move the cursor, name the window or type for its reader. Lines and
 * tabs stay.
 */
export const harmless = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  text.replaceAll(/\r(?=\n)/g, "").replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd")

/** A table with its columns aligned; the last one is not padded. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: ReadonlyArray<string>) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("")
}
