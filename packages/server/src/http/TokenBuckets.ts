/** Lets each subject do so many things a minute. A bucket for each fills evenly and never holds more than a minute's worth. */
export class TokenBuckets {
  private readonly perMs: number
  private readonly buckets = new Map<string, { readonly tokens: number; readonly at: number }>()

  constructor(private readonly perMinute: number) {
    this.perMs = perMinute / 60_000
  }

  /** Takes one for a subject. Undefined when there was one, else the seconds until there is. */
  take(subject: string, now: number): number | undefined {
    if (this.buckets.size >= 10_000) this.forgetFull(now)
    const tokens = this.filled(subject, now)
    const isFree = tokens >= 1
    this.buckets.set(subject, { tokens: isFree ? tokens - 1 : tokens, at: now })
    return isFree ? undefined : Math.ceil((1 - tokens) / this.perMs / 1000)
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
