import { Effect } from "effect"
import type { ForgeError } from "./Forge.js"

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

/** What a check has written. Others wrote it. */
export interface CheckLog {
  /** The end of its log, at most 65,536 characters; empty for none. */
  readonly text: string
  /** True when the log is longer. */
  readonly truncated: boolean
  /** At most 50. */
  readonly remarks: ReadonlyArray<CheckRemark>
}

/** A comment of ours on a merge request. */
export interface PostedComment {
  readonly forgeId: string
  /** Its page for people; null where the forge does not tell. */
  readonly url: string | null
}

/** What is done on a forge around a merge request. */
export interface ForgeActs {
  /** The log of a run; undefined when the forge has none for it, or does not show it to the token. */
  readonly log: (check: CheckRun) => Effect.Effect<CheckLog | undefined, ForgeError>
  /** Begins a run anew. False when the forge cannot. */
  readonly rerun: (check: CheckRun) => Effect.Effect<boolean, ForgeError>
  /** Writes a comment on a merge request. */
  readonly reply: (number: number, text: string) => Effect.Effect<PostedComment, ForgeError>
  /** The comment on a merge request that holds a mark; undefined for none. */
  readonly posted: (number: number, mark: string) => Effect.Effect<PostedComment | undefined, ForgeError>
  /** True when somebody may write to the repository. False too when the forge does not tell. */
  readonly mayWrite: (login: string) => Effect.Effect<boolean, ForgeError>
}

/** The same, loaded with the first use. */
export const loadedActs = (load: () => Promise<ForgeActs>): ForgeActs => {
  const acts = Effect.promise(load)
  return {
    log: (check) => Effect.flatMap(acts, ({ log }) => log(check)),
    rerun: (check) => Effect.flatMap(acts, ({ rerun }) => rerun(check)),
    reply: (number, text) => Effect.flatMap(acts, ({ reply }) => reply(number, text)),
    posted: (number, mark) => Effect.flatMap(acts, ({ posted }) => posted(number, mark)),
    mayWrite: (login) => Effect.flatMap(acts, ({ mayWrite }) => mayWrite(login))
  }
}
