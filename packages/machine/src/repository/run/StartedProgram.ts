import { type ChildProcess, spawn } from "node:child_process"
import type { Writable } from "node:stream"

// Programs that run, in a group of their own, whoever has started them.

/** A program to start. */
export interface Program {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** All of its standard input; undefined where its `stdin` is fed. */
  readonly input: Uint8Array | undefined
}

/** Takes what a program tells. One of `failed` and `closed` comes last. */
export interface Taking {
  readonly stdout: (chunk: Buffer) => void
  readonly stderr: (chunk: Buffer) => void
  /** It could not be started. */
  readonly failed: () => void
  /** It has ended and its output was read. The code is null for one that a signal has ended. */
  readonly closed: (code: number | null) => void
}

/** A program that runs. */
export interface StartedProgram {
  readonly stdin: Writable
  /** Asks it to stop, and tells no more of its output. */
  readonly stop: () => void
  /** Ends it with all programs of its group, and waits until they have ended. It does nothing for a program that has ended. */
  readonly end: () => Promise<void>
}

/** The time that a group has between SIGTERM, at which git removes its locks, and SIGKILL, in milliseconds. */
export const killGraceMs = 2_000

/** Ends the whole group of a child, because git's transport helpers are its children and would outlive it. */
const endGroup = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    const group = child.pid
    if (group === undefined || child.exitCode !== null || child.signalCode !== null) return resolve()
    const timer = setTimeout(() => signalGroup(group, "SIGKILL"), killGraceMs)
    child.once("close", () => {
      clearTimeout(timer)
      signalGroup(group, "SIGKILL")
      resolve()
    })
    signalGroup(group, "SIGTERM")
  })

/** Sends a signal to a group, which may have ended. */
export const signalGroup = (group: number, name: NodeJS.Signals): void => signalAll(-group, name)

/** Sends a signal to a process, or to the group of a negative number. It may have ended. */
export const signalAll = (target: number, name: NodeJS.Signals): void => {
  try {
    process.kill(target, name)
  } catch {
    // ESRCH: every process of it has ended on its own.
  }
}

/** Starts a program as a child of this process. */
export const startHere = ({ args, cwd, env, file, input }: Program, taking: Taking): StartedProgram => {
  const child = spawn(file, args, { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe"] })
  child.stdout.on("data", taking.stdout)
  child.stderr.on("data", taking.stderr)
  child.once("error", taking.failed)
  child.once("close", taking.closed)
  if (input !== undefined) {
    // A program that ends before it has read its input breaks the pipe. Its exit code gives the reason.
    child.stdin.on("error", () => undefined)
    child.stdin.end(input)
  }
  return {
    stdin: child.stdin,
    stop: () => {
      child.stdout.destroy()
      child.kill("SIGTERM")
    },
    end: () => endGroup(child)
  }
}
