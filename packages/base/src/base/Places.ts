/**
 * A bounded number of places for guests who do not come again when they are sent away. A guest gets a place at once, or waits in line for one in
 * the order of coming.
 */
export class Places {
  private taken = 0
  private readonly line = new Set<() => void>()

  constructor(
    private readonly most: number,
    /** The most guests who may wait at once. */
    private readonly longestLine: number
  ) {}

  /**
   * Calls `begin` once there is a place. Gives the function that frees the place, or leaves the line; calling it again changes nothing. Undefined
   * where the line is full, and `begin` is never called then.
   */
  take(begin: () => void): (() => void) | undefined {
    if (this.taken >= this.most && this.line.size >= this.longestLine) return undefined
    let state: "waiting" | "seated" | "gone" = "waiting"
    const sit = () => {
      state = "seated"
      this.taken += 1
      begin()
    }
    const leave = () => {
      if (state === "waiting") this.line.delete(sit)
      else if (state === "seated") this.taken -= 1
      state = "gone"
      this.seatNext()
    }
    if (this.taken < this.most) sit()
    else this.line.add(sit)
    return leave
  }

  private seatNext(): void {
    for (const next of this.line) {
      if (this.taken >= this.most) return
      this.line.delete(next)
      next()
    }
  }
}
