import { readdirSync, readFileSync } from "node:fs"

/** The file of a name that the system shows for a process; empty when the process is over. */
export const shown = (pid: number, name: "cmdline" | "environ"): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8")
  } catch {
    return ""
  }
}

/**
 * The living processes for which the condition holds. A process that has ended and was not collected shows neither arguments nor environment.
 */
export const processesWhere = (isWanted: (pid: number) => boolean): ReadonlyArray<number> =>
  readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) && isWanted(Number(name)) ? [Number(name)] : []))

/** The processes that bear the mark of a lease. */
export const processesOf = (leaseId: string): ReadonlyArray<number> =>
  processesWhere((pid) => shown(pid, "environ").includes(`REINS_LEASE=${leaseId}`))

/** The processes of all agents whose homes lie in a directory. */
export const agentsIn = (directory: string): ReadonlyArray<number> =>
  processesWhere((pid) => {
    const environment = shown(pid, "environ")
    return environment.includes("REINS_LEASE=") && environment.includes(`HOME=${directory}/`)
  })

/** Kills processes. One that has ended by itself since it was found is as good. */
export const endEach = (pids: ReadonlyArray<number>): void => {
  for (const pid of pids)
    try {
      process.kill(pid, "SIGKILL")
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
    }
}
