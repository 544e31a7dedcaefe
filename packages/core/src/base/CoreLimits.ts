/** What an operator may raise or lower. Bytes and characters are of one thing, counts of what is there at once. */
export interface CoreLimits {
  /** Text of one message; at most 100,000, which the contract names. */
  readonly messageCharacters: number
  /** The body of every request but an upload. */
  readonly jsonBodyBytes: number
  /** A file that is uploaded. */
  readonly uploadBytes: number
  /** What a read gives of a file; the rest is left out and said to be. */
  readonly fileReadBytes: number
  readonly diffBytes: number
  readonly diffFileBytes: number
  readonly diffFiles: number
  /** Turns that wait in a session. */
  readonly queuedTurns: number
  /** How deep delegations may be nested. */
  readonly delegationDepth: number
  /** Delegations of a session that have not ended. */
  readonly liveDelegations: number
  /** Requests a minute for each caller of the server; null for any number. */
  readonly requestsPerMinute: number | null
  /** Event streams of one caller on one session; null for any number. */
  readonly streamsPerSession: number | null
  /** Days that the events of a closed session are kept after the last of them; null for ever. */
  readonly eventRetentionDays: number | null
}

const MiB = 1024 * 1024

export const defaultLimits: CoreLimits = {
  messageCharacters: 100_000,
  jsonBodyBytes: MiB,
  uploadBytes: 25 * MiB,
  fileReadBytes: 10 * MiB,
  diffBytes: MiB,
  diffFileBytes: MiB / 2,
  diffFiles: 1000,
  queuedTurns: 20,
  delegationDepth: 3,
  liveDelegations: 10,
  requestsPerMinute: 600,
  streamsPerSession: 8,
  eventRetentionDays: null
}

/** The most bytes that the body of an upload may have: the file in base64, and what is around it. */
export const uploadBodyBytes = ({ uploadBytes }: CoreLimits): number => Math.ceil(uploadBytes * 1.5) + 64 * 1024
