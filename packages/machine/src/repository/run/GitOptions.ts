import { Context, Layer } from "effect"

/** The permissions and limits that the operator sets. */
export interface GitOptionsShape {
  /** Remotes by `file:` URL or absolute path. The remote's own hooks run on a push to it. Default false. */
  readonly allowFile: boolean
  /** Directories that hold no remote, links followed: an agent could put hooks there. Default none. */
  readonly closedTo: ReadonlyArray<string>
  /** Remotes by SSH, with the key of a connection and no other. Default false. */
  readonly allowSsh: boolean
  /** Time for one network operation, in milliseconds. Default 10 minutes. */
  readonly networkTimeoutMs: number
  /** Time for one local git process, in milliseconds. Default 2 minutes. */
  readonly localTimeoutMs: number
  /** The largest file that a snapshot captures, in bytes. Default 50 MiB. */
  readonly maxFileBytes: number
  /** The most files that one snapshot reads anew. Default 100,000. */
  readonly maxChangedFiles: number
  /** Variables that every git process carries. By them the next start of the service finds a process that was left behind. Default none. */
  readonly marks: Readonly<Record<string, string>>
  /** The size of a diff for people, in bytes. Default 1 MiB. */
  readonly maxDiffBytes: number
  /** The part of one file in such a diff, in bytes. Default 512 KiB. */
  readonly maxDiffFileBytes: number
  /** The number of files in such a diff. Default 1,000. */
  readonly maxDiffFiles: number
}

/** The options that hold unless others are provided. */
export const defaultGitOptions: GitOptionsShape = {
  allowFile: false,
  closedTo: [],
  allowSsh: false,
  networkTimeoutMs: 10 * 60_000,
  localTimeoutMs: 2 * 60_000,
  maxFileBytes: 50 * 1024 * 1024,
  maxChangedFiles: 100_000,
  marks: {},
  maxDiffBytes: 1024 * 1024,
  maxDiffFileBytes: 512 * 1024,
  maxDiffFiles: 1_000
}

/** The options of `Git`. Without a layer the defaults hold. */
export class GitOptions extends Context.Reference<GitOptions>()("@reins/core/git/GitOptions", {
  defaultValue: () => defaultGitOptions
}) {
  static readonly layer = (options: Partial<GitOptionsShape>): Layer.Layer<GitOptions> =>
    Layer.succeed(GitOptions, { ...defaultGitOptions, ...options })
}
