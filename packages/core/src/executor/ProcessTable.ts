import { readdir, readFile } from "node:fs/promises"
import type { ReapedProcess } from "./Executor.js"

/** The variable that every process of a lease inherits, wherever it moves. */
export const leaseVariable = "REINS_LEASE"

// A process may end between the listing and the read, and others belong to somebody else. Neither is ours.
const readProc = (pid: number, file: string): Promise<string> =>
  readFile(`/proc/${pid}/${file}`, "latin1").catch(() => "")

/** Group and liveness; a zombie has ended, only its parent has not collected it. */
const status = async (pid: number): Promise<{ readonly group: number; readonly alive: boolean }> => {
  const stat = await readProc(pid, "stat")
  const [state = "X", , group = "0"] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return { group: Number(group), alive: stat !== "" && state !== "Z" && state !== "X" }
}

const otherProcesses = async (): Promise<ReadonlyArray<number>> => {
  if (process.platform !== "linux") return []
  const entries = await readdir("/proc")
  return entries
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => pid !== process.pid)
}

/**
 * The living processes that were started with the lease in their environment. The process itself says so, hence a pid that went
 * to somebody else meanwhile is never taken for ours. Empty where there is no /proc.
 */
export const bearing = async (leaseId: string): Promise<ReadonlyArray<ReapedProcess>> => {
  const marker = `${leaseVariable}=${leaseId}`
  const found: Array<ReapedProcess> = []
  for (const pid of await otherProcesses()) {
    const environment = await readProc(pid, "environ")
    if (!environment.split("\0").includes(marker) || !(await status(pid)).alive) continue
    found.push({ pid, command: (await readProc(pid, "cmdline")).split("\0")[0] ?? "" })
  }
  return found
}

/** Sends a signal; false if the target is gone. */
export const signal = (target: number, name: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(target, name)
  } catch {
    return false
  }
}

/** Whether a process group still has a living member. */
export const groupAlive = async (group: number): Promise<boolean> => {
  if (!signal(-group, 0)) return false
  if (process.platform !== "linux") return true
  for (const pid of await otherProcesses()) {
    const member = await status(pid)
    if (member.alive && member.group === group) return true
  }
  return false
}
