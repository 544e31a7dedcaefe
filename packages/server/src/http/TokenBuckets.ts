/** Lets each subject do so many things a minute. A bucket for each fills evenly and never holds more than a minute's worth. */
export class TokenBuckets {
  private readonly perMs: number
  private readonly buckets = new Map<string, { readonly tokens: number; readonly at: number }>()

  constructor(private readonly perMinute: number) {
    this.perMs = perMinute / 60_000
  }

  /** Takes the next one of a subject, if it is there within a time. Gives the milliseconds until it is there, and whether it was taken. */
  reserve(subject: string, now: number, patienceMs: number): { readonly waitMs: number; readonly isTaken: boolean } {
    if (this.buckets.size >= 10_000) this.forgetFull(now)
    const tokens = this.filled(subject, now)
    const waitMs = Math.max(0, Math.ceil((1 - tokens) / this.perMs))
    const isTaken = waitMs <= patienceMs
    this.buckets.set(subject, { tokens: isTaken ? tokens - 1 : tokens, at: now })
    return { waitMs, isTaken }
  }

  private filled(subject: string, now: number): number {
    const bucket = this.buckets.get(subject)
    return bucket === undefined
      ? this.perMinute
      : Math.min(this.perMinute, bucket.tokens + Math.max(0, now - bucket.at) * this.perMs)
  }

  private forgetFull(now: number): void {
    for (const subject of this.buckets.keys())
      if (this.filled(subject, now) >= this.perMinute) this.buckets.delete(subject)
    // Ids that nobody has fill it only as fast as the limit of a client lets them.
    if (this.buckets.size >= 10_000) this.buckets.clear()
  }
}
