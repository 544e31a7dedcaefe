/** The times of a lease, in milliseconds. */
export interface Times {
  /** The life of a lease after its last renewal. */
  readonly ttlMs: number
  /** The time between two renewals. */
  readonly renewMs: number
  /** A node stops to act so long before its lease ends, and ends its agents in that time. */
  readonly marginMs: number
}

/**
 * The times of a lease of so many milliseconds. It is renewed often, so that five sixths of it less the time between two renewals are left for a
 * database that is away: four seconds of six.
 */
export const timesOf = (ttlMs: number): Times => ({ ttlMs, renewMs: ttlMs / 6, marginMs: ttlMs / 6 })

/** The life of a lease unless it is given, in seconds. */
export const defaultLeaseSeconds = 6
