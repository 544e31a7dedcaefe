import { readdir, readFile } from "node:fs/promises"
import { hasProc } from "@reins/base/base/ProcFs"
import { signalAll, signalGroup } from "./StartedProgram.js"

// Ends programs that only their environment tells.

/** A program that has ended meanwhile, or that of another user, bears no mark of ours. */
const bears = async (pid: string, entry: string): Promise<boolean> => {
  const environ = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "")
  return environ.split("\0").includes(entry)
}

/** A process that starts others while they are looked for is found again so many times. */
const mostRounds = 20

/** Kills every process with this entry in its environment, and the groups that they lead. It finds none on a system without `/proc`. */
export const endBearing = async (entry: string): Promise<void> => {
  if (!hasProc()) return
  for (let round = 0; round < mostRounds; round++) {
    const pids = (await readdir("/proc", { encoding: "latin1" })).filter((name) => /^\d+$/.test(name))
    const found: Array<string> = []
    for (const pid of pids) if (await bears(pid, entry)) found.push(pid)
    if (found.length === 0) return
    for (const pid of found) {
      // A program leads a group, in which its children may have another environment.
      signalGroup(Number(pid), "SIGKILL")
      signalAll(Number(pid), "SIGKILL")
    }
  }
}
