import { execFileSync } from "node:child_process"
import { closeSync, constants, openSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/**
 * Makes the readers of a bare repository on disk wait in the middle until the test lets them go on. For that, one file of the repository
 * becomes a pipe.
 */
export const pauseReaders = (repository: string) => {
  const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: repository, encoding: "utf8" })
  const file = join(repository, "packed-refs")
  const refs = git("for-each-ref", "--format=%(refname) %(objectname)").trim().split("\n")
  rmSync(file, { force: true })
  for (const ref of refs) git("update-ref", ...ref.split(" "))
  execFileSync("mkfifo", [file])
  return {
    /**
     * Gives the function that lets the waiting reader go on; undefined while no reader waits. That reader sees the pipe end like an empty file,
     * and the next reader finds an empty file.
     */
    reader: (): (() => void) | undefined => {
      try {
        const fd = openSync(file, constants.O_WRONLY | constants.O_NONBLOCK)
        return () => {
          rmSync(file)
          writeFileSync(file, "")
          closeSync(fd)
        }
      } catch {
        return undefined
      }
    }
  }
}
