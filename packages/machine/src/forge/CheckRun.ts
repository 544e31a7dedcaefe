// The log of a run of a check, and a comment of ours, as plain data.

/** A run of a check, as a view has told of it. */
export interface CheckRun {
  /** The key of `RemoteCheck`. */
  readonly key: string
  /** The id of the run on the forge. */
  readonly run: string
  /** Its page for people. */
  readonly url: string | null
}

/** A remark of a check about a line. */
export interface CheckRemark {
  readonly path: string
  /** Counted from 1; null for none. */
  readonly line: number | null
  readonly message: string
}

/** The end of a text of the forge. */
export interface LogEnd {
  readonly text: string
  /** True when more came before it. */
  readonly cut: boolean
}

/** The log of a check. Others wrote it. */
export interface CheckLog {
  /** The end of its log, at most 65,536 characters; empty for none. */
  readonly text: string
  /** True when the log is longer. */
  readonly truncated: boolean
  /** Says why the forge does not show the log; absent where it does, or has none. */
  readonly unshown?: string
  /** At most 50. */
  readonly remarks: ReadonlyArray<CheckRemark>
}

/** A comment of ours on a merge request. */
export interface PostedComment {
  readonly forgeId: string
  /** Its page for people; null where the forge does not tell. */
  readonly url: string | null
}
