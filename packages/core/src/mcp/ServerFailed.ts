import { Data } from "effect"

/**
 * A server cannot be asked, or its answer cannot be used. The message may hold words of the server, so whoever shows it blanks secrets first.
 * `mayHaveHappened` is true once a call was sent.
 */
export class ServerFailed extends Data.TaggedError("ServerFailed")<{
  readonly message: string
  readonly mayHaveHappened: boolean
  /** True where the connection of the server, or its key, has to be mended. */
  readonly needsAuthorization?: boolean
  /** True where it answers, in another way than it has to. */
  readonly hasAnswered?: boolean
  /** True where nobody answers at its address, which may be so for a moment. */
  readonly isAway?: boolean
  /** True where a new session may do, and the request was not taken. */
  readonly isSessionGone?: boolean
  /** The time after which it may be asked again, in milliseconds, where it has not taken the request. */
  readonly againMs?: number
}> {}
