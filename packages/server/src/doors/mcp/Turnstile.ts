/**
 * Lets requests begin one in each turn of the event loop, the callers by turns. Most requests of assistants do their work at once, in a few milliseconds.
 * A crowd of them would keep everybody else from the loop.
 */
export class Turnstile {
  private readonly lines = new Map<string, Array<() => void>>()
  private isTurning = false

  /** Waits for a turn. Requests of one caller pass in order. */
  pass(caller: string): Promise<void> {
    return new Promise((resolve) => {
      const line = this.lines.get(caller)
      if (line === undefined) this.lines.set(caller, [resolve])
      else line.push(resolve)
      if (this.isTurning) return
      this.isTurning = true
      setImmediate(this.turn)
    })
  }

  private readonly turn = (): void => {
    for (const [caller, [first, ...rest]] of this.lines) {
      // A caller goes to the end of the callers.
      this.lines.delete(caller)
      if (rest.length > 0) this.lines.set(caller, rest)
      first?.()
      break
    }
    this.isTurning = this.lines.size > 0
    if (this.isTurning) setImmediate(this.turn)
  }
}
