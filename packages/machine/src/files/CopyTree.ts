import { execFile } from "node:child_process"
import { lstat } from "node:fs/promises"
import { promisify } from "node:util"

const run = promisify(execFile)

/** Files share their blocks until one of them is written, where the file system can. Not every `cp` knows the option. */
const sharing = ["--reflink=auto"]

const unknownOption = /unrecognized option|illegal option|invalid option/i

/** The settings of a copy. */
export interface CopyOptions {
  /** Breaks the copy off. */
  readonly signal?: AbortSignal
  /** True for a copy that nobody waits for, which gives way to other work of the machine. */
  readonly isPatient?: boolean
}

/**
 * Copies a tree in which nobody works, with its modes, times and links, to a path where nothing is. No file is shared with the original, so
 * neither changes with the other. `cp` does it in a fifth of the time that Node takes. Fails when a part cannot be copied.
 */
export const copyTree = async (from: string, to: string, { isPatient = false, signal }: CopyOptions): Promise<void> => {
  if ((await lstat(to).catch(() => undefined)) !== undefined) throw new Error(`something is at ${to} already`)
  const options = { env: { PATH: process.env["PATH"], LC_ALL: "C" }, ...(signal && { signal }) }
  const copy = (flags: ReadonlyArray<string>) => {
    const [program = "", ...args] = [...(isPatient ? ["nice", "-n", "19"] : []), "cp", "-a", ...flags, "--", from, to]
    return run(program, args, options)
  }
  await copy(sharing).catch((cause: unknown) => {
    if (cause instanceof Error && unknownOption.test(cause.message)) return copy([])
    throw cause
  })
}
