/** A change of a file, as an agent tells it. */
export interface AskedDiff {
  /** The path, as the agent names it. */
  readonly path: string
  /** The text before: a whole file, or a part of it. Null or empty for a new file. */
  readonly old_text: string | null
  readonly new_text: string
  /** True where no file is left. */
  readonly is_deleted?: boolean
}

/** The call that an agent asks leave for, as all that it has told so far. */
export interface AskedCall {
  readonly kind: string
  readonly title: string
  readonly input: unknown
  readonly diffs: ReadonlyArray<AskedDiff>
  readonly locations: ReadonlyArray<{ readonly path: string }>
}
