/** The requests of one caller that are answered at once, and those that wait for a place. */
const mostAtOnce = 20
const mostInLine = 80

/** The bytes of the requests of one caller that wait. */
const mostBytesInLine = 1024 * 1024

/** A client gives a call up after a minute, and most calls take less than the rest of it. */
const patienceMs = 20_000

interface Line {
  running: number
  bytes: number
  readonly waiting: Set<() => void>
}

/** Bounds what each caller holds. A request without a place waits for one, in order, because most clients do not repeat what was refused. */
export class Places {
  private readonly lines = new Map<string, Line>()

  /** Gives the way to leave the place; undefined where the line is full, the wait was too long, or the caller has gone. */
  async enter(caller: string, bytes: number, gone: AbortSignal): Promise<(() => void) | undefined> {
    const line = this.lines.get(caller) ?? { running: 0, bytes: 0, waiting: new Set() }
    this.lines.set(caller, line)
    if (line.running < mostAtOnce) line.running += 1
    else if (!(await this.wait(line, bytes, gone))) return undefined
    return () => {
      // The place goes over to the first in line, so that nobody who comes meanwhile gets it.
      const [first] = line.waiting
      if (first !== undefined) return first()
      line.running -= 1
      if (line.running === 0) this.lines.delete(caller)
    }
  }

  private wait(line: Line, bytes: number, gone: AbortSignal): Promise<boolean> {
    if (gone.aborted || line.waiting.size >= mostInLine || line.bytes + bytes > mostBytesInLine)
      return Promise.resolve(false)
    return new Promise((resolve) => {
      const end = (isIn: boolean) => {
        clearTimeout(timer)
        gone.removeEventListener("abort", leave)
        line.waiting.delete(go)
        line.bytes -= bytes
        resolve(isIn)
      }
      const go = () => end(true)
      const leave = () => end(false)
      const timer = setTimeout(leave, patienceMs)
      gone.addEventListener("abort", leave, { once: true })
      line.bytes += bytes
      line.waiting.add(go)
    })
  }
}
