/** The bounds of what a server may take and give. */
export interface ServerBounds {
  /** The longest time for a connection or a list, in milliseconds. */
  readonly connectMs: number
  /** The longest time for a call, in milliseconds. */
  readonly callMs: number
  /** The longest answer of a server, in bytes. */
  readonly maxBytes: number
}

export const serverBounds: ServerBounds = { connectMs: 10_000, callMs: 300_000, maxBytes: 4 * 1024 * 1024 }
