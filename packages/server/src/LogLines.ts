import { FiberId, Logger, type LogLevel } from "effect"

/** The longest time that a line waits for others, in milliseconds. */
const everyMs = 20
/** So many characters are written at once, because a burst must not become one huge write. */
const most = 64 * 1024

let waiting = ""
let timer: NodeJS.Timeout | undefined

/** Writes the lines that wait to the standard error. All of them are written when it returns. */
export const flushLog = (): void => {
  clearTimeout(timer)
  timer = undefined
  const lines = waiting
  waiting = ""
  if (lines !== "") process.stderr.write(lines)
}
process.on("exit", flushLog)

/**
 * Writes lines of JSON to the standard error, in their order. Lines of one moment share a write, because a write costs more than its lines. The
 * last lines are written when the process ends. If it is killed, those of the last 20 ms can be missing.
 */
export const jsonLines = Logger.map(Logger.jsonLogger, (line) => take(line))

const take = (line: string): void => {
  waiting += `${line}\n`
  if (waiting.length > most) flushLog()
  else timer ??= setTimeout(flushLog, everyMs).unref()
}

/** A message with values that are plain. */
export interface PlainLine {
  readonly message: string
  readonly logLevel: LogLevel.LogLevel
  readonly date: Date
  readonly annotations: Readonly<Record<string, string | number | null>>
  readonly fiberId: FiberId.FiberId
}

/** Writes a line as `jsonLines` does, at two fifths of the cost. */
export const writeLine = ({ annotations, date, fiberId, logLevel, message }: PlainLine): void =>
  take(
    JSON.stringify({
      message,
      logLevel: logLevel.label,
      timestamp: date.toISOString(),
      annotations,
      spans: {},
      fiberId: FiberId.threadName(fiberId)
    })
  )
