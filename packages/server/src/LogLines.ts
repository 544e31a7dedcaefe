import { Console } from "node:console"
import { constants, openSync, writeSync } from "node:fs"
import { Writable } from "node:stream"
import { FiberId, Logger, LogLevel } from "effect"
import { LogSink } from "./LogSink.js"

const standardError = 2
const isTerminal = process.stderr.isTTY === true

/**
 * The standard error, so that a write never blocks. Node makes a pipe so with the first look at `process.stderr`. A terminal, which Ctrl-S
 * stops, is opened once more for it.
 */
const open = (): number => {
  if (!isTerminal) return standardError
  try {
    return openSync("/dev/stderr", constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return standardError
  }
}

let opened: number | undefined
const descriptor = (): number => {
  opened ??= open()
  return opened
}

const gapLine = (lines: number, code: string): string => {
  const message = "lines of the log are missing here, because they could not be written"
  const annotations = { lines, code }
  return isTerminal
    ? `${lines} ${message} (${code})\n`
    : plainText({ message, annotations, logLevel: LogLevel.Warning, date: new Date(), fiberId: FiberId.none })
}

const sink = new LogSink((bytes) => writeSync(descriptor(), bytes), gapLine)

/** Writes the lines that wait to the standard error. Only what its reader does not take now is left when it returns. */
export const flushLog = (): void => sink.flush()
process.on("exit", () => sink.end())

/**
 * Writes lines of JSON to the standard error, in their order. Lines of one moment share a write, because a write costs more than its lines. The
 * last lines are written when the process ends. If it is killed, those of the last 20 ms can be missing.
 */
export const jsonLines = Logger.map(Logger.jsonLogger, (line) => sink.take(`${line}\n`))

/** The lines of a log for a person, whose logger writes to a console. */
export const terminalConsole = (hasColors: boolean): Console => {
  const stream = new Writable({
    decodeStrings: false,
    write: (text, _encoding, done) => {
      sink.take(String(text))
      sink.flush()
      done()
    }
  })
  return new Console({ stdout: stream, stderr: stream, colorMode: hasColors })
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
export const writeLine = (line: PlainLine): void => sink.take(plainText(line))

const plainText = ({ annotations, date, fiberId, logLevel, message }: PlainLine): string => {
  const text = JSON.stringify({
    message,
    logLevel: logLevel.label,
    timestamp: date.toISOString(),
    annotations,
    spans: {},
    fiberId: FiberId.threadName(fiberId)
  })
  return `${text}\n`
}
