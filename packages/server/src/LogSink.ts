/** Writes bytes and gives back how many the system took. It throws an error with the system's code when none were taken. */
export type Write = (bytes: Uint8Array) => number

/** Says that lines are missing, as a line of the log with its end. */
export type GapLine = (lines: number, code: string) => string

/** The longest time that a line waits for others, in milliseconds. */
const everyMs = 20
/** The time between two attempts at a log that takes nothing, in milliseconds. */
const againMs = 250
/** So many characters are written at once, because a burst must not become one huge write. */
const burst = 64 * 1024
/** So many characters wait for a slow reader. Lines beyond them are lost. */
const most = 1024 * 1024
/** The time that a slow reader has when the process ends, in milliseconds. */
const farewellMs = 500

const newline = 10

/** Bytes on their way, and the lines that are missing when they cannot be written: a line about a gap stands for many. */
interface Batch {
  readonly bytes: Uint8Array
  readonly gap?: number
}

const linesOf = ({ bytes, gap }: Batch): number => {
  if (gap !== undefined) return gap
  let lines = 0
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) lines++
  return lines
}

/** A line that was cut must not run into the next one. */
const endOfCutLine: Batch = { bytes: Uint8Array.of(newline), gap: 0 }

/**
 * The end of a log that never fails and never blocks. While its reader is slow, it keeps a bounded part. While its reader is gone or its disk
 * is full, it drops lines. As soon as it can write again, a line says how many are missing.
 */
export class LogSink {
  private waiting = ""
  private sending: ReadonlyArray<Batch> = []
  private lost = 0
  private lastCode = ""
  /** True while the last line is cut. */
  private isInLine = false
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly write: Write,
    private readonly gapLine: GapLine
  ) {}

  /** Takes one or more whole lines. */
  take(lines: string): void {
    if (this.isFull()) {
      this.lost += linesOf({ bytes: Buffer.from(lines) })
      return
    }
    this.waiting += lines
    if (this.waiting.length > burst && this.sending.length === 0) this.flush()
    else this.timer ??= setTimeout(() => this.flush(), everyMs).unref()
  }

  /** Writes what waits, as far as it is taken now. */
  flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    for (let batch = this.next(); batch !== undefined; batch = this.next()) {
      const code = this.send(batch)
      if (code === undefined) continue
      this.lastCode = code
      if (code !== "EAGAIN") this.lose()
      this.timer = setTimeout(() => this.flush(), againMs).unref()
      return
    }
  }

  /** \`flush\` at the end of the process: a slow reader has half a second to take the rest. */
  end(): void {
    const until = performance.now() + farewellMs
    this.flush()
    while (this.sending.length > 0 && performance.now() < until) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
      this.flush()
    }
  }

  /** True from the moment that too much waits until all of it is written, so that lines are missing in one place only. */
  private isFull(): boolean {
    if (this.sending.length === 0) return false
    if (this.lost > 0) return true
    if (this.waiting.length <= most) return false
    this.sending = [...this.sending, { bytes: Buffer.from(this.waiting) }]
    this.waiting = ""
    return true
  }

  /** The batch to send next. */
  private next(): Batch | undefined {
    if (this.sending.length > 0) return this.sending[0]
    const gap = this.lost
    const text = gap > 0 ? this.gapLine(gap, this.lastCode) : this.waiting
    if (text === "") return undefined
    const batch: Batch = { bytes: Buffer.from(text), ...(gap > 0 && { gap }) }
    this.sending = this.isInLine ? [endOfCutLine, batch] : [batch]
    if (gap > 0) this.lost = 0
    else this.waiting = ""
    return this.sending[0]
  }

  /** Writes a part of the first batch. Gives back the code of the system when it takes nothing. */
  private send(batch: Batch): string | undefined {
    try {
      const taken = this.write(batch.bytes)
      if (taken === 0) return "EAGAIN"
      this.isInLine = batch.bytes[taken - 1] !== newline
      const rest = { ...batch, bytes: batch.bytes.subarray(taken) }
      this.sending = [...(rest.bytes.length > 0 ? [rest] : []), ...this.sending.slice(1)]
      return undefined
    } catch (error) {
      return codeOf(error)
    }
  }

  /** Gives up what waits. A line is there already when its end alone is missing, which is written before the next one. */
  private lose(): void {
    const [first] = this.sending
    if (this.isInLine && first?.bytes[0] === newline) this.lost -= first.gap ?? 1
    for (const batch of [...this.sending, { bytes: Buffer.from(this.waiting) }]) this.lost += linesOf(batch)
    this.sending = []
    this.waiting = ""
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown"
