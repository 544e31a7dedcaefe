import { share } from "@reins/testing/Volume"

/** The time for which a node at least stands still or is cut off, in seconds. It loses its lease meanwhile. */
export const goneSeconds = share(0, 40)

/** The time for which PostgreSQL is away when it is restarted, in seconds. No turn is interrupted by that. */
export const awaySeconds = share(1, 3)

/** The rounds in which the time of a take-over is taken, of each way in which a node can go. */
export const takeOvers = share(1, 5)
