/** A piece of a terminal's output, with the classes of its look; empty for none. */
export type Piece = readonly [text: string, look: string]

const colours = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const

interface Style {
  readonly colour: string
  readonly isBold: boolean
  readonly isDim: boolean
  readonly isItalic: boolean
  readonly isUnderlined: boolean
}

const plain: Style = { colour: "", isBold: false, isDim: false, isItalic: false, isUnderlined: false }

/** The nearest of the eight colours. */
const nearest = (red: number, green: number, blue: number): string => {
  const bits = (red > 127 ? 1 : 0) + (green > 127 ? 2 : 0) + (blue > 127 ? 4 : 0)
  return colours[bits] ?? ""
}

/** A colour of the table of 256: sixteen, a cube with six steps, and greys. */
const ofTable = (index: number): string => {
  if (index < 16) return colours[index % 8] ?? ""
  if (index > 231) return ""
  const at = index - 16
  const step = (value: number) => (value % 6) * 51
  return nearest(step(Math.floor(at / 36)), step(Math.floor(at / 6)), step(at))
}

const styled = (style: Style, codes: ReadonlyArray<number>): Style => {
  let now = style
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0
    if (code === 0) now = plain
    else if (code === 1) now = { ...now, isBold: true }
    else if (code === 2) now = { ...now, isDim: true }
    else if (code === 3) now = { ...now, isItalic: true }
    else if (code === 4) now = { ...now, isUnderlined: true }
    else if (code === 22) now = { ...now, isBold: false, isDim: false }
    else if (code === 23) now = { ...now, isItalic: false }
    else if (code === 24) now = { ...now, isUnderlined: false }
    else if (code === 39) now = { ...now, colour: "" }
    else if (code >= 30 && code <= 37) now = { ...now, colour: colours[code - 30] ?? "" }
    else if (code >= 90 && code <= 97) now = { ...now, colour: colours[code - 90] ?? "" }
    else if (code === 38 || code === 48) {
      const isTable = codes[at + 1] === 5
      const [red = 0, green = 0, blue = 0] = codes.slice(at + 2)
      if (code === 38) now = { ...now, colour: isTable ? ofTable(red) : nearest(red, green, blue) }
      at += isTable ? 2 : 4
    }
  }
  return now
}

const lookOf = ({ colour, isBold, isDim, isItalic, isUnderlined }: Style): string =>
  [
    colour === "" ? "" : `ansi-${colour}`,
    isBold ? "ansi-bold" : "",
    isDim ? "ansi-dim" : "",
    isItalic ? "ansi-italic" : "",
    isUnderlined ? "ansi-underlined" : ""
  ]
    .filter((name) => name !== "")
    .join(" ")

const sequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys
  /\u001b(?:\[([0-?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|[PX^_][^\u001b]*(?:\u001b\\|$)|[ -/]*[0-~]?)/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: these have no look
const unseen = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u0080-\u009f]/g

/** A line that a program writes over shows what was written last. */
const overwritten = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => {
      const parts = line.split("\r").filter((part) => part !== "")
      return parts.at(-1) ?? ""
    })
    .join("\n")

/** The output of a program as a terminal would colour it. Nothing else that a terminal obeys is left of it. */
export const piecesOf = (output: string): ReadonlyArray<Piece> => {
  const text = overwritten(output)
  const pieces: Array<Piece> = []
  let style = plain
  let at = 0
  const put = (part: string) => {
    const seen = part.replace(unseen, "")
    if (seen !== "") pieces.push([seen, lookOf(style)])
  }
  for (const match of text.matchAll(sequence)) {
    put(text.slice(at, match.index))
    at = match.index + match[0].length
    const [, codes = "", end] = match
    if (end === "m") style = styled(style, codes.split(/[;:]/).map(Number))
  }
  put(text.slice(at))
  return pieces
}

/** The last lines of an output. */
export const lastLines = (output: string, most: number): string => {
  const lines = output.trimEnd().split("\n")
  return lines.slice(-most).join("\n")
}
