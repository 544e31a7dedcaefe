/** The least time between two events of one thing, in milliseconds. */
const leastPause = 250
/** The characters that are said again and again, which one thing may add to the log in a millisecond. */
const repeatedPerMs = 4

/**
 * Holds the newest state of things that change more often than they are told. It keeps one state of each, and its owner takes what
 * is left at the end.
 */
export class Pace<State> {
  private readonly waiting = new Map<string, State>()
  private readonly freeAt = new Map<string, number>()

  /** True when a thing may be told now. */
  isFree(key: string, now: number): boolean {
    return now >= (this.freeAt.get(key) ?? 0)
  }

  hold(key: string, state: State): void {
    this.waiting.set(key, state)
  }

  /** Notes that a thing was told, with the number of characters that repeat or replace what was told before. */
  tell(key: string, now: number, repeated: number): void {
    this.waiting.delete(key)
    this.freeAt.set(key, now + Math.max(leastPause, repeated / repeatedPerMs))
  }

  /** The states whose time has come. */
  due(now: number): ReadonlyArray<State> {
    return [...this.waiting].flatMap(([key, state]) => (this.isFree(key, now) ? [state] : []))
  }

  /** The time at which the next state is due; undefined when nothing waits. */
  get nextAt(): number | undefined {
    if (this.waiting.size === 0) return undefined
    return Math.min(...[...this.waiting.keys()].map((key) => this.freeAt.get(key) ?? 0))
  }
}
