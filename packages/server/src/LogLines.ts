import { Logger } from "effect"

/** A line waits at most this long for others. */
const everyMs = 20
/** Characters that are not kept waiting: a burst must not become one huge write. */
const most = 64 * 1024

let waiting = ""
let timer: NodeJS.Timeout | undefined

/** Writes what waits to the standard error, all of it before this returns. */
export const flushLog = (): void => {
  clearTimeout(timer)
  timer = undefined
  const lines = waiting
  waiting = ""
  if (lines !== "") process.stderr.write(lines)
}
process.on("exit", flushLog)

/**
 * Writes lines of JSON to the standard error, in their order. Lines of one moment share a write, which costs more than they do. What the
 * process has logged is written when it ends, unless it is killed: then the last 20 ms can be missing.
 */
export const jsonLines = Logger.map(Logger.jsonLogger, (line) => {
  waiting += `${line}\n`
  if (waiting.length > most) flushLog()
  else timer ??= setTimeout(flushLog, everyMs).unref()
})
