import { Lexer, type MarkedToken, type Token, type Tokens } from "marked"
import { type Line, type Span, widthOf, wrapped } from "./Spans.js"
import { harmless, type Style } from "./Style.js"

/** The most characters that are read at once. A longer line is shown as it is, because some texts take the square of their length. */
export const longestRead = 8 * 1024

/** The blocks of a text in Markdown. One that is too long, or too deep, is shown as it is. */
export const blocksOf = (markdown: string): ReadonlyArray<MarkedToken> => {
  try {
    // Without extensions, every token is one of marked's own.
    if (markdown.length <= longestRead && !isDeep(markdown)) return Lexer.lex(markdown) as Array<MarkedToken>
  } catch (error) {
    // The reader calls itself for each level.
    if (!(error instanceof RangeError)) throw error
  }
  return [{ type: "code", raw: markdown, text: markdown.replace(/\n$/, "") }]
}

/** Deeper than a person reads. Each character of such a run is a level of its own. */
const isDeep = (markdown: string): boolean => /(?:[->[*_~+][ \t]?){200}/.test(markdown)

/** The lines that show a block in so many columns. */
export const linesOfBlock = (token: Token, columns: number): ReadonlyArray<Line> => {
  // Boundary: without extensions, every token is one of marked's own.
  const block = token as MarkedToken
  switch (block.type) {
    case "space":
    case "checkbox":
      return []
    case "def":
      return wrapped([dim(`[${block.tag}]: ${block.href}`)], columns)
    case "heading":
      return wrapped(inline(block.tokens, block.depth === 1 ? ["bold", "underline"] : ["bold"]), columns)
    case "code":
      return [...languageLine(block.lang), ...block.text.split("\n").map(codeLine)]
    case "blockquote":
      return linesOfBlocks(block.tokens, columns - 2).map((line) => [dim("▏ "), ...line])
    case "hr":
      return [[dim("─".repeat(Math.max(1, Math.min(columns, 40))))]]
    case "list":
      return linesOfList(block, columns)
    case "table":
      return linesOfTable(block, columns)
    case "html":
      return wrapped([plain(block.text.trimEnd())], columns)
    default:
      return wrapped(inline("tokens" in block && block.tokens ? block.tokens : [block], []), columns)
  }
}

/** The lines of blocks, with an empty one between two. */
const linesOfBlocks = (tokens: ReadonlyArray<Token>, columns: number): ReadonlyArray<Line> =>
  tokens
    .map((token) => linesOfBlock(token, columns))
    .filter((lines) => lines.length > 0)
    .flatMap((lines, at) => (at === 0 ? lines : [[], ...lines]))

/** The line above code that names its language. */
export const languageLine = (language: string | undefined): ReadonlyArray<Line> => {
  const [name = ""] = (language ?? "").trim().split(/\s/)
  return name === "" ? [] : [[dim(`  ${harmless(name)}`)]]
}

export const codeLine = (text: string): Line => [plain("  "), { text, styles: ["cyan"] }]

const linesOfList = ({ items, loose, ordered, start }: Tokens.List, columns: number): ReadonlyArray<Line> => {
  const last = Number(start) + items.length - 1
  const shown = items.map((item, at) => {
    const mark = item.task
      ? item.checked
        ? "[x]"
        : "[ ]"
      : ordered
        ? `${Number(start) + at}.`.padStart(`${last}.`.length)
        : "•"
    const inner = linesOfItem(item, columns - mark.length - 1)
    return (inner.length === 0 ? [[]] : inner).map((line, row) => [
      row === 0 ? dim(`${mark} `) : plain(" ".repeat(mark.length + 1)),
      ...line
    ])
  })
  const isSpaced = loose && items.some(({ tokens }) => tokens.filter(({ type }) => type === "paragraph").length > 1)
  return shown.flatMap((lines, at) => (at > 0 && isSpaced ? [[], ...lines] : lines))
}

/** Text of an item stands right above a list in it. */
const linesOfItem = ({ tokens }: Tokens.ListItem, columns: number): ReadonlyArray<Line> => {
  const blocks = tokens.filter(({ type }) => type !== "space" && type !== "checkbox")
  return blocks.flatMap((token, at) => {
    const lines = linesOfBlock(token, columns)
    return at > 0 && token.type !== "list" ? [[], ...lines] : lines
  })
}

const linesOfTable = ({ align, header, rows }: Tokens.Table, columns: number): ReadonlyArray<Line> => {
  const cells = [header, ...rows].map((row) => row.map(({ tokens }) => onOneLine(inline(tokens, []))))
  const [head = [], ...body] = cells
  const widths = head.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? []))))
  const isTooWide = widths.reduce((sum, width) => sum + width + 2, -2) > columns
  if (isTooWide) return linesOfRecords(head, body, columns)
  const line = (row: ReadonlyArray<Line>) =>
    row.flatMap((cell, column) => [
      ...(column > 0 ? [plain("  ")] : []),
      ...aligned(cell, widths[column] ?? 0, align[column] ?? null)
    ])
  const rule = widths.map((width) => "─".repeat(width)).join("  ")
  return [line(head.map((cell) => styled(cell, "bold"))), [dim(rule)], ...body.map(line)]
}

/** A table that is wider than the terminal, as a list of its rows. */
const linesOfRecords = (
  head: ReadonlyArray<Line>,
  rows: ReadonlyArray<ReadonlyArray<Line>>,
  columns: number
): ReadonlyArray<Line> =>
  rows.flatMap((row, at) => {
    const lines = row.flatMap((cell, column) =>
      wrapped([...styled(head[column] ?? [], "dim"), plain(": "), ...cell], columns)
    )
    return at === 0 ? lines : [[], ...lines]
  })

const aligned = (cell: Line, width: number, align: "center" | "left" | "right" | null): Line => {
  const gap = Math.max(0, width - widthOf(cell))
  const before = align === "right" ? gap : align === "center" ? Math.floor(gap / 2) : 0
  return [plain(" ".repeat(before)), ...cell, plain(" ".repeat(gap - before))]
}

const onOneLine = (line: Line): Line =>
  line.map(({ styles, text }) => ({ styles, text: text.replaceAll(/[\n\t]/g, " ") }))

const plain = (text: string): Span => ({ text, styles: [] })
const dim = (text: string): Span => ({ text, styles: ["dim"] })
const styled = (line: Line, style: Style): Line =>
  line.map(({ styles, text }) => ({ text, styles: [...styles, style] }))

const inline = (tokens: ReadonlyArray<Token>, styles: ReadonlyArray<Style>): Line =>
  tokens.flatMap((token) => spansOf(token, styles))

const spansOf = (token: Token, styles: ReadonlyArray<Style>): Line => {
  // Boundary: without extensions, every token is one of marked's own.
  const part = token as MarkedToken
  switch (part.type) {
    case "strong":
      return inline(part.tokens, [...styles, "bold"])
    case "em":
      return inline(part.tokens, [...styles, "italic"])
    case "del":
      return inline(part.tokens, [...styles, "dim"])
    case "codespan":
      return [{ text: part.text, styles: [...styles, "cyan"] }]
    case "br":
      return [plain("\n")]
    case "checkbox":
      return []
    case "image":
      return [{ text: `[picture: ${part.text || part.href}]`, styles: [...styles, "dim"] }]
    case "link":
      return linked(part, styles)
    case "html":
      return [/^<br\s*\/?>$/i.test(part.text) ? plain("\n") : { text: part.text, styles }]
    default:
      return "tokens" in part && part.tokens
        ? inline(part.tokens, styles)
        : [{ text: written("text" in part ? part.text : part.raw), styles }]
  }
}

/** A link with its address, where the address is not its text. */
const linked = ({ href, text, tokens }: Tokens.Link, styles: ReadonlyArray<Style>): Line => {
  const shown = inline(tokens, [...styles, "underline"])
  const isTold = text === href || `mailto:${text}` === href || `http://${text}` === href || href === ""
  return isTold ? shown : [...shown, { text: ` (${href})`, styles: [...styles, "dim"] }]
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " }

/** Text with the characters that its entities stand for. None of them commands the terminal. A line end of a paragraph is a blank. */
const written = (text: string): string =>
  harmless(
    text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hex, name) => {
      if (name !== undefined) return entities[String(name).toLowerCase()] ?? whole
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
      return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : whole
    })
  ).replaceAll("\n", " ")
