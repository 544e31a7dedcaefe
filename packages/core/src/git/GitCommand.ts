import { type ChildProcess, spawn } from "node:child_process"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { Data, Effect, FiberRef } from "effect"
import { wholeCharacters } from "../base/CutText.js"
import { limited } from "../base/Limited.js"
import { bytesText } from "../files/NameText.js"
import { classify, GitError, scrub } from "./GitError.js"
import { processMarks, settingsEnv } from "./GitVariables.js"

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
  readonly stderr: string
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

const killGraceMs = 2_000

// Ends the whole group, because git's transport helpers are its children and would outlive it. SIGTERM comes first, so that git removes its locks.
const endGroup = (child: ChildProcess): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const group = child.pid
    if (group === undefined || child.exitCode !== null || child.signalCode !== null) {
      resume(Effect.void)
      return
    }
    const signal = (name: NodeJS.Signals) => {
      try {
        process.kill(-group, name)
      } catch {
        // ESRCH: every process of the group has ended on its own.
      }
    }
    const timer = setTimeout(() => signal("SIGKILL"), killGraceMs)
    child.once("close", () => {
      clearTimeout(timer)
      signal("SIGKILL")
      resume(Effect.void)
    })
    signal("SIGTERM")
  })

const start = (invocation: GitInvocation, marks: Readonly<Record<string, string>>): ChildProcess =>
  spawn("git", argv(invocation), {
    cwd: invocation.workTree ?? "/",
    env: { ...environment(invocation), ...marks },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"]
  })

const collect = (child: ChildProcess, invocation: GitInvocation): Effect.Effect<GitOutput, GitError> =>
  Effect.async<GitOutput, GitError>((resume) => {
    const limit = invocation.maxStdoutBytes ?? 256 * 1024 * 1024
    const stdout: Array<Buffer> = []
    const stderr: Array<Buffer> = []
    let size = 0
    let stderrSize = 0
    let truncated = false
    const take = (chunk: Buffer) => {
      if (truncated) return
      const rest = limit - size
      const piece = chunk.length > rest ? chunk.subarray(0, rest) : chunk
      size += piece.length
      if (invocation.onStdout === undefined) stdout.push(piece)
      else invocation.onStdout(piece)
      if (piece.length < chunk.length) {
        truncated = true
        child.stdout?.destroy()
        child.kill("SIGTERM")
      }
    }
    child.stdout?.on("data", take)
    child.stderr?.on("data", (chunk: Buffer) => {
      if (stderrSize < maxStderrBytes) stderr.push(chunk.subarray(0, maxStderrBytes - stderrSize))
      stderrSize += chunk.length
    })
    // git is not on the PATH, or the work tree is no directory.
    child.once("error", () =>
      resume(
        new GitError({
          kind: "internal",
          message: "git could not be started: install git 2.39 or later, on the PATH of the service."
        })
      )
    )
    child.once("close", (code) =>
      resume(
        Effect.succeed({
          exitCode: code ?? 128,
          stdout: Buffer.concat(stdout),
          stderr: scrub(bytesText(wholeCharacters(Buffer.concat(stderr))), invocation.secrets),
          truncated
        })
      )
    )
  })

class InputFailed extends Data.TaggedError("InputFailed")<{ readonly cause: unknown }> {}

// A process that ends before it has read its input breaks the pipe. That is no error here, because its exit code gives the reason.
const feed = (child: ChildProcess, stdin: GitInvocation["stdin"]): Effect.Effect<void, InputFailed> => {
  const sink = child.stdin
  if (sink === null) return Effect.void
  const source = stdin === undefined ? [] : stdin instanceof Uint8Array ? [stdin] : stdin
  return Effect.tryPromise({
    try: (signal) => pipeline(Readable.from(source, { objectMode: true }), sink, { signal }),
    catch: (cause) => new InputFailed({ cause })
  }).pipe(
    Effect.catchIf(
      ({ cause }) => isBrokenPipe(cause),
      () => Effect.void
    )
  )
}

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
            collect(child, invocation),
            feed(child, invocation.stdin).pipe(
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
    endGroup
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
