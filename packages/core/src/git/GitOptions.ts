import { Context, Layer } from "effect"

/** What the operator allows and limits. */
export interface GitOptionsShape {
  /** Remotes by plain `http:`. Default true. */
  readonly allowHttp: boolean
  /** Remotes by `file:` URL or absolute path. The remote's own hooks run on a push to it. Default false. */
  readonly allowFile: boolean
  /** Time for one network operation, in milliseconds. Default 10 minutes. */
  readonly networkTimeoutMs: number
  /** Time for one local git process, in milliseconds. Default 2 minutes. */
  readonly localTimeoutMs: number
  /** The largest file that a snapshot captures, in bytes. Default 50 MiB. */
  readonly maxFileBytes: number
  /** The most files that one snapshot reads anew. Default 100,000. */
  readonly maxChangedFiles: number
  /** Variables that every git process bears, by which it is found when the service has ended before it. Default none. */
  readonly marks: Readonly<Record<string, string>>
  /** What a diff for people shows: in all, of one file, and of how many. Defaults 1 MiB, 512 KiB and 1,000. */
  readonly maxDiffBytes: number
  readonly maxDiffFileBytes: number
  readonly maxDiffFiles: number
}

export const defaultGitOptions: GitOptionsShape = {
  allowHttp: true,
  allowFile: false,
  networkTimeoutMs: 10 * 60_000,
  localTimeoutMs: 2 * 60_000,
  maxFileBytes: 50 * 1024 * 1024,
  maxChangedFiles: 100_000,
  marks: {},
  maxDiffBytes: 1024 * 1024,
  maxDiffFileBytes: 512 * 1024,
  maxDiffFiles: 1_000
}

/** The options of `Git`; the defaults hold where nobody provides others. */
export class GitOptions extends Context.Reference<GitOptions>()("@reins/core/git/GitOptions", {
  defaultValue: () => defaultGitOptions
}) {
  static readonly layer = (options: Partial<GitOptionsShape>): Layer.Layer<GitOptions> =>
    Layer.succeed(GitOptions, { ...defaultGitOptions, ...options })
}
