import { Readable, type Writable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { wholeCharacters } from "@reins/base/base/CutText"
import type { ForeignText } from "@reins/base/base/ForeignText"
import { limited } from "@reins/base/base/Limited"
import { Data, Deferred, Effect, FiberId, FiberRef } from "effect"
import { bytesText } from "../../files/NameText.js"
import { classify, GitError, scrub } from "./GitError.js"
import { processMarks, settingsEnv } from "./GitVariables.js"
import type { StartedProgram } from "./StartedProgram.js"
import { startProgram } from "./Starter.js"

// Starts git: its environment, settings, process group and limits. Knows no operation.

/** The id of the empty tree, which git knows without storing it. */
export const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

/** The id that git writes where there is no object. */
export const noObject = "0".repeat(40)

/** One git process. Its arguments hold no secret; credentials go in `env` and are named in `secrets` for scrubbing. */
export interface GitInvocation {
  readonly args: ReadonlyArray<string>
  readonly gitDir: string
  /** Only the few commands that look at files have one. The others run without it, so that no attribute is read from it. */
  readonly workTree?: string
  readonly indexFile?: string
  readonly env?: Readonly<Record<string, string>>
  /** Settings of this invocation, besides those of every invocation, as `name=value`. */
  readonly settings?: ReadonlyArray<string>
  readonly stdin?: Uint8Array | AsyncIterable<Uint8Array>
  readonly timeoutMs: number
  readonly secrets?: ReadonlyArray<string>
  /** Above it the process is ended and the output is `truncated`. Default 256 MiB. */
  readonly maxStdoutBytes?: number
  /** Takes each piece of stdout, which is then not collected. */
  readonly onStdout?: (chunk: Buffer) => void
}

/** The output of a git process that has ended, with any exit code. `stderr` is scrubbed and at most 64 KiB. */
export interface GitOutput {
  readonly exitCode: number
  readonly stdout: Buffer
  readonly stderr: ForeignText
  readonly truncated: boolean
}

// Fixed, because the content of a repository could set these otherwise and so start a process, a prompt or a second repository.
const settings = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "core.protectHFS=true",
  "core.protectNTFS=true",
  "core.symlinks=true",
  "core.fileMode=true",
  "core.autocrlf=false",
  "core.precomposeUnicode=false",
  "core.quotePath=false",
  "core.bigFileThreshold=8m",
  "core.splitIndex=false",
  // Durable objects are stored as packs, and each pack is flushed once. Single objects may be lost with the power.
  "core.fsync=committed,-loose-object",
  "fetch.unpackLimit=1",
  "safe.bareRepository=explicit",
  "protocol.allow=never",
  "protocol.ext.allow=never",
  "http.followRedirects=initial",
  "http.proxyAuthMethod=basic",
  "transfer.bundleURI=false",
  "submodule.recurse=false",
  "fetch.recurseSubmodules=false",
  "push.recurseSubmodules=no",
  "push.followTags=false",
  "push.gpgSign=false",
  "push.useForceIfIncludes=false",
  "diff.ignoreSubmodules=all",
  "diff.renameLimit=1000",
  "gc.auto=0",
  "maintenance.auto=false",
  "transfer.credentialsInUrl=die",
  "advice.addEmbeddedRepo=false",
  "merge.directoryRenames=false"
].flatMap((setting) => ["-c", setting])

/** A proxy that is not there, for git that has no remote to ask. */
const noProxy = settingsEnv({ "http.proxy": "http://127.0.0.1:1" })

const environment = (invocation: GitInvocation): Record<string, string> => ({
  PATH: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
  LC_ALL: "C",
  HOME: "/nonexistent",
  XDG_CONFIG_HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_ALLOW_PROTOCOL: "",
  GIT_PROTOCOL_FROM_USER: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_CEILING_DIRECTORIES: "/",
  GIT_PAGER: "cat",
  GIT_EDITOR: "false",
  ...noProxy,
  ...(invocation.indexFile === undefined ? {} : { GIT_INDEX_FILE: invocation.indexFile }),
  ...invocation.env
})

const argv = (invocation: GitInvocation): ReadonlyArray<string> => [
  `--git-dir=${invocation.gitDir}`,
  ...(invocation.workTree === undefined ? [] : [`--work-tree=${invocation.workTree}`]),
  "--literal-pathspecs",
  "--no-pager",
  ...settings,
  ...(invocation.settings ?? []).flatMap((setting) => ["-c", setting]),
  ...invocation.args
]

const maxStderrBytes = 64 * 1024

/** A git process that runs, and its output once it has ended. */
interface Git extends StartedProgram {
  readonly output: Effect.Effect<GitOutput, GitError>
}

const start = (invocation: GitInvocation, marks: Readonly<Record<string, string>>): Git => {
  const { stdin = noInput, workTree = "/" } = invocation
  const done = Deferred.unsafeMake<GitOutput, GitError>(FiberId.none)
  const collector = new Collector(invocation)
  const running = startProgram(
    {
      file: "git",
      args: argv(invocation),
      cwd: workTree,
      env: { ...environment(invocation), ...marks },
      input: stdin instanceof Uint8Array ? stdin : undefined
    },
    {
      stdout: (chunk) => {
        if (collector.take(chunk)) running.stop()
      },
      stderr: collector.takeError,
      // git is not on the PATH, or the work tree is no directory.
      failed: () => Deferred.unsafeDone(done, Effect.fail(notStarted)),
      closed: (code) =>
        Deferred.unsafeDone(
          done,
          Effect.sync(() => collector.output(code))
        )
    }
  )
  return { stdin: running.stdin, stop: running.stop, end: running.end, output: Deferred.await(done) }
}

const noInput = new Uint8Array()

const notStarted = new GitError({
  kind: "internal",
  message: "git could not be started: install git 2.39 or later, on the PATH of the service."
})

/** Collects the output of a git process within its limits. */
class Collector {
  private readonly stdout: Array<Buffer> = []
  private readonly stderr: Array<Buffer> = []
  private size = 0
  private stderrSize = 0
  private truncated = false

  constructor(private readonly invocation: GitInvocation) {}

  /** True where the output is over its limit, so that no more of it is wanted. */
  readonly take = (chunk: Buffer): boolean => {
    if (this.truncated) return false
    const { maxStdoutBytes = 256 * 1024 * 1024, onStdout } = this.invocation
    const piece = chunk.subarray(0, maxStdoutBytes - this.size)
    this.size += piece.length
    if (onStdout === undefined) this.stdout.push(piece)
    else onStdout(piece)
    this.truncated = piece.length < chunk.length
    return this.truncated
  }

  readonly takeError = (chunk: Buffer): void => {
    if (this.stderrSize < maxStderrBytes) this.stderr.push(chunk.subarray(0, maxStderrBytes - this.stderrSize))
    this.stderrSize += chunk.length
  }

  readonly output = (code: number | null): GitOutput => ({
    exitCode: code ?? 128,
    stdout: Buffer.concat(this.stdout),
    stderr: scrub(bytesText(wholeCharacters(Buffer.concat(this.stderr))), this.invocation.secrets),
    truncated: this.truncated
  })
}

class InputFailed extends Data.TaggedError("InputFailed")<{ readonly cause: unknown }> {}

// A process that ends before it has read its input breaks the pipe. That is no error here, because its exit code gives the reason.
const feed = (sink: Writable, stdin: GitInvocation["stdin"]): Effect.Effect<void, InputFailed> =>
  stdin === undefined || stdin instanceof Uint8Array
    ? Effect.void
    : Effect.tryPromise({
        try: (signal) => pipeline(Readable.from(stdin, { objectMode: true }), sink, { signal }),
        catch: (cause) => new InputFailed({ cause })
      }).pipe(
        Effect.catchIf(
          ({ cause }) => isBrokenPipe(cause),
          () => Effect.void
        )
      )

const isBrokenPipe = (cause: unknown): boolean =>
  cause instanceof Error &&
  "code" in cause &&
  (cause.code === "EPIPE" || cause.code === "ERR_STREAM_PREMATURE_CLOSE" || cause.code === "ECONNRESET")

/** Runs git and gives its output for any exit code. Fails with `timeout`, or with `internal` when git cannot be started or fed. */
export const runGit = (invocation: GitInvocation): Effect.Effect<GitOutput, GitError> =>
  limited(
    toItsEnd(invocation),
    Effect.timeoutFail({
      duration: invocation.timeoutMs,
      onTimeout: () =>
        new GitError({
          kind: "timeout",
          message: `git ${invocation.args[0] ?? ""} did not end within ${invocation.timeoutMs} ms: try again later.`
        })
    })
  )

const toItsEnd = (invocation: GitInvocation): Effect.Effect<GitOutput, GitError> =>
  Effect.acquireUseRelease(
    Effect.map(FiberRef.get(processMarks), (marks) => start(invocation, marks)),
    (child) =>
      Effect.map(
        Effect.all(
          [
            child.output,
            feed(child.stdin, invocation.stdin).pipe(
              Effect.mapError(({ cause }) =>
                cause instanceof GitError
                  ? cause
                  : new GitError({ kind: "internal", message: "git could not be fed its input: try again." })
              )
            )
          ],
          { concurrency: 2 }
        ),
        ([output]) => output
      ),
    ({ end }) => Effect.promise(end)
  )

// A caller that names a limit expects cut output. Output that is cut at the general limit would pass for complete.
const isUsable = (invocation: GitInvocation, output: GitOutput): boolean =>
  output.truncated ? invocation.maxStdoutBytes !== undefined : output.exitCode === 0

/** Runs git and fails with the classified error unless it exits with 0, or was cut at the given `maxStdoutBytes`. */
export const git = (invocation: GitInvocation): Effect.Effect<GitOutput, GitError> =>
  Effect.flatMap(runGit(invocation), (output) =>
    isUsable(invocation, output)
      ? Effect.succeed(output)
      : Effect.fail(classify(invocation.args[0] ?? "", output.stderr, invocation.secrets))
  )

/** The records of a `-z` output as latin1 text, which keeps every byte of a name. */
export const records = (output: Buffer): ReadonlyArray<string> => {
  const text = output.toString("latin1")
  const parts = text.split("\0")
  if (parts.at(-1) === "") parts.pop()
  return parts
}

const objectIdPattern = /^[0-9a-f]{40}$/

/** Fails with `not_found` unless every value is a full object id. Nothing else may reach git where it expects one. */
export const requireObjectIds = (...ids: ReadonlyArray<string>): Effect.Effect<void, GitError> =>
  ids.every((id) => objectIdPattern.test(id))
    ? Effect.void
    : Effect.fail(new GitError({ kind: "not_found", message: "An object id must be 40 lowercase hexadecimal digits." }))

/** True for 40 lowercase hexadecimal digits. */
export const isObjectId = (text: string): boolean => objectIdPattern.test(text)
