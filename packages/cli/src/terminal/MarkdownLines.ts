import { blocksOf, codeLine, languageLine, linesOfBlock, longestRead } from "./Markdown.js"
import { type Line, painted } from "./Spans.js"
import { harmless, type Style } from "./Style.js"

/** Blocks that nothing can be added to behind an empty line. */
const endedByBlank: ReadonlySet<string> = new Set(["paragraph", "heading", "table", "hr", "def"])

/** A block that goes on is read again when it has grown by this share. */
const growth = 1.25

/**
 * Markdown for a terminal, block by block and only added to: nothing that was written is drawn again. Each step takes a whole line, so the ends
 * of the pieces in which words come do not matter. Code is shown line by line, all else when its block is whole.
 */
export class MarkdownLines {
  /** The words behind the last line end. */
  private rest = ""
  /** The lines of blocks that may go on. */
  private open = ""
  private readFrom = 0
  /** The ticks that began the code that is open. */
  private fence: string | undefined
  private isBegun = false

  constructor(
    private readonly columns: () => number,
    private readonly paint: (style: Style, text: string) => string
  ) {}

  /** True while words wait for the end of their block. */
  get isWaiting(): boolean {
    return this.rest !== "" || this.open !== ""
  }

  /** Takes words, and gives the lines that they have made whole. */
  readonly take = (words: string): string => {
    const lines = (this.rest + words).split("\n")
    this.rest = lines.pop() ?? ""
    return lines.map((line) => this.line(line)).join("")
  }

  /** Gives what is left. */
  readonly end = (): string => {
    const { rest } = this
    this.rest = ""
    const last = rest === "" ? "" : this.line(rest)
    const left = this.close(true)
    this.fence = undefined
    this.isBegun = false
    return last + left
  }

  private line(given: string): string {
    const line = harmless(given.endsWith("\r") ? given.slice(0, -1) : given)
    if (this.fence !== undefined) {
      if (!isEndOf(this.fence, line)) return this.write([codeLine(line)])
      this.fence = undefined
      return ""
    }
    const [, ticks, language] = /^(`{3,})([^`]*)$/.exec(line) ?? /^(~{3,})(.*)$/.exec(line) ?? []
    if (ticks !== undefined) {
      const before = this.close(true)
      this.fence = ticks
      return before + this.begin(languageLine(language))
    }
    const before = this.open.length + line.length >= longestRead ? this.close(true) : ""
    this.open += `${line}\n`
    if (/^#{1,6} /.test(line)) return before + this.close(true)
    return before + (line.trim() === "" && this.open.length >= this.readFrom ? this.close(false) : "")
  }

  /** Shows the open blocks: all of them, or those that nothing is added to any more. */
  private close(all: boolean): string {
    if (this.open.trim() === "") {
      this.open = ""
      return ""
    }
    const blocks = blocksOf(this.open)
    const at = blocks.findLastIndex(({ type }) => type !== "space")
    const isEnded = all || endedByBlank.has(blocks[at]?.type ?? "")
    const done = isEnded ? blocks : blocks.slice(0, at)
    this.open = isEnded ? "" : this.open.slice(done.reduce((length, { raw }) => length + raw.length, 0))
    this.readFrom = this.open.length * growth
    return done
      .map((block) => linesOfBlock(block, this.columns()))
      .filter((lines) => lines.length > 0)
      .map((lines) => this.begin(lines))
      .join("")
  }

  /** The lines of a block, below an empty line unless it is the first. */
  private begin(lines: ReadonlyArray<Line>): string {
    const gap = this.isBegun ? "\n" : ""
    this.isBegun = true
    return gap + this.write(lines)
  }

  private write(lines: ReadonlyArray<Line>): string {
    return lines.map((line) => `${painted(line, this.paint)}\n`).join("")
  }
}

const isEndOf = (fence: string, line: string): boolean => {
  const [, ticks = ""] = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line) ?? []
  return ticks.startsWith(fence)
}
