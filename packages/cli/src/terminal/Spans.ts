import stringWidth from "string-width"
import type { Style } from "./Style.js"

/** Words in some styles. */
export interface Span {
  readonly text: string
  readonly styles: ReadonlyArray<Style>
}

export type Line = ReadonlyArray<Span>

export const widthOf = (line: Line): number => stringWidth(line.map(({ text }) => text).join(""))

const widths = new Map<string, number>()

/** The columns of one character. Few are wide, and the library takes long for each. */
const columnsOf = (character: string): number => {
  if (/^[ -~]$/.test(character)) return 1
  const known = widths.get(character)
  if (known !== undefined) return known
  const width = stringWidth(character)
  if (widths.size > 5000) widths.clear()
  widths.set(character, width)
  return width
}

/** A line as a terminal takes it. Each span ends its own styles, so that none reaches what stands behind it. */
export const painted = (line: Line, paint: (style: Style, text: string) => string): string =>
  joined(line)
    .map(({ styles, text }, at, all) =>
      styles.reduce((inner, style) => paint(style, inner), at === all.length - 1 ? text.trimEnd() : text)
    )
    .join("")
    .trimEnd()

/** Neighbours of the same styles as one. */
const joined = (line: Line): Line => {
  const spans: Array<Span> = []
  for (const { styles, text } of line) {
    const last = spans.at(-1)
    if (last !== undefined && last.styles.join() === styles.join())
      spans.splice(-1, 1, { styles, text: last.text + text })
    else if (text !== "") spans.push({ styles, text })
  }
  return spans
}

/** A word of one span or more, and the blank before it. */
interface Word {
  readonly blank: Span | undefined
  readonly spans: Array<Span>
}

/** Breaks lines at blanks. A word that is wider than a line is cut between the characters that people see. */
export const wrapped = (spans: Line, columns: number): ReadonlyArray<Line> =>
  linesOf(spans).flatMap((line) => broken(wordsOf(line), Math.max(columns, leastColumns)))

const leastColumns = 8

/** The lines that are in a text. */
const linesOf = (spans: Line): ReadonlyArray<Line> => {
  const lines: Array<Array<Span>> = [[]]
  for (const { styles, text } of spans)
    for (const [at, part] of text.split("\n").entries()) {
      if (at > 0) lines.push([])
      if (part !== "") lines.at(-1)?.push({ text: part, styles })
    }
  return lines
}

const wordsOf = (line: Line): ReadonlyArray<Word> => {
  const words: Array<Word> = []
  let blank: Span | undefined
  let isOpen = false
  for (const { styles, text } of line)
    for (const part of text.split(/([ \t]+)/)) {
      if (part === "") continue
      if (part.trim() === "") {
        blank = { text: " ", styles }
        isOpen = false
      } else if (isOpen) words.at(-1)?.spans.push({ text: part, styles })
      else {
        words.push({ blank, spans: [{ text: part, styles }] })
        blank = undefined
        isOpen = true
      }
    }
  return words
}

const broken = (words: ReadonlyArray<Word>, columns: number): ReadonlyArray<Line> => {
  const lines: Array<Array<Span>> = [[]]
  let used = 0
  const add = (span: Span, width: number) => {
    lines.at(-1)?.push(span)
    used += width
  }
  const next = () => {
    lines.push([])
    used = 0
  }
  for (const { blank, spans } of words) {
    const width = widthOf(spans)
    if (used > 0 && used + 1 + width > columns && width <= columns) next()
    if (used > 0 && used + 1 < columns && blank !== undefined) add(blank, 1)
    if (used + width <= columns) for (const span of spans) add(span, widthOf([span]))
    else
      for (const { styles, text } of spans)
        for (const { segment } of segmenter.segment(text)) {
          const wide = columnsOf(segment)
          if (used > 0 && used + wide > columns) next()
          add({ text: segment, styles }, wide)
        }
  }
  return lines
}

const segmenter = new Intl.Segmenter()
