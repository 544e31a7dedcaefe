import { execFileSync } from "node:child_process"
import { closeSync, constants, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs"
import { join } from "node:path"

/**
 * Makes the readers of a bare repository on disk wait in the middle until the test lets them go on. For that, the file of the branch that
 * HEAD names becomes a pipe.
 */
export const pauseReaders = (repository: string) => {
  const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: repository, encoding: "utf8" })
  const refs = git("for-each-ref", "--format=%(refname) %(objectname)").trim().split("\n")
  rmSync(join(repository, "packed-refs"), { force: true })
  for (const ref of refs) git("update-ref", ...ref.split(" "))
  const file = join(repository, git("symbolic-ref", "HEAD").trim())
  const content = readFileSync(file, "utf8")
  rmSync(file)
  execFileSync("mkfifo", [file])
  return {
    /**
     * Gives the function that lets the waiting reader go on; undefined while no reader waits. That reader waits for what the pipe says, and the
     * next reader finds a file.
     */
    reader: (): (() => void) | undefined => {
      try {
        const fd = openSync(file, constants.O_WRONLY | constants.O_NONBLOCK)
        return () => {
          rmSync(file)
          writeFileSync(file, content)
          writeSync(fd, content)
          closeSync(fd)
        }
      } catch {
        return undefined
      }
    }
  }
}
