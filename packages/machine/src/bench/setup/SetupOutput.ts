import { cutEnd, cutText, piecesOf } from "@reins/base/base/CutText"
import type { Scrubber } from "../../harness/Secrets.js"

/** The characters of output that the events of one setup hold. */
export const maxOutput = 256 * 1024
/** The characters of output in one event, and of one line. */
const maxPiece = 16 * 1024
const maxLine = 4 * 1024
/** The end of the output that an error quotes. */
const tailLines = 20
const tailCharacters = 2_000

/** A part of the output as an event tells it. */
export interface Piece {
  readonly output: string
  readonly truncated: boolean
}

const cut = (line: string): string => (line.length <= maxLine ? line : `${cutText(line, maxLine)}…`)

/** The output of the commands of one setup, bounded, with secrets blanked. */
export class SetupOutput {
  private left = maxOutput
  private tail: ReadonlyArray<string> = []

  constructor(private readonly scrubber: Scrubber) {}

  /** Forgets the command before, whose end no error quotes any more. */
  begin(): void {
    this.tail = []
  }

  /** Takes lines, and gives what of them is to be told. Nothing is told once the setup has told all that it may. */
  take(lines: ReadonlyArray<string>): ReadonlyArray<Piece> {
    const clean = lines.map((line) => cut(this.scrubber.scrub(line)))
    this.tail = [...this.tail, ...clean].slice(-tailLines)
    if (this.left <= 0) return []
    const text = clean.map((line) => `${line}\n`).join("")
    const told = cutText(text, this.left)
    this.left -= text.length
    const pieces = piecesOf(told, maxPiece)
    return pieces.map((output, at) => ({ output, truncated: this.left <= 0 && at === pieces.length - 1 }))
  }

  /** The last lines of the command. */
  get end(): string {
    return cutEnd(this.tail.join("\n"), tailCharacters)
  }
}
