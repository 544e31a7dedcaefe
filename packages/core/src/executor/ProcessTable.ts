import { readdir, readFile } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import type { ReapedProcess } from "./Executor.js"
import { type Mark, markEntry, markLimit } from "./Marks.js"

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

const bears = (mark: Mark): ((pid: number) => Promise<boolean>) => {
  const entry = markEntry(mark)
  const limit = new RegExp(`^Max realtime timeout .*\\b${markLimit(mark)}\\b`, "m")
  return async (pid) =>
    (await readProc(pid, "environ")).split("\0").includes(entry) || limit.test(await readProc(pid, "limits"))
}

/**
 * The living processes that bear a mark, in their environment or in their limits. The process itself says so, hence a pid that went
 * to somebody else meanwhile is never taken for ours. Empty where there is no /proc.
 */
export const bearing = async (mark: Mark): Promise<ReadonlyArray<ReapedProcess>> => {
  const isOurs = bears(mark)
  const look = async (pid: number): Promise<ReadonlyArray<ReapedProcess>> =>
    (await isOurs(pid)) && (await status(pid)).alive
      ? [{ pid, command: (await readProc(pid, "cmdline")).split("\0")[0] ?? "" }]
      : []
  return (await Promise.all((await otherProcesses()).map(look))).flat()
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

const killRounds = 200
const pollMs = 25

/** Kills what bears a mark until a look finds nothing, since a process can fork while it is being killed, and says what it was. */
export const end = async (mark: Mark): Promise<ReadonlyArray<ReapedProcess>> => {
  const ended = new Map<number, ReapedProcess>()
  for (let round = 0; round < killRounds; round++) {
    const found = await bearing(mark)
    if (found.length === 0) break
    for (const each of found) {
      signal(each.pid, "SIGKILL")
      ended.set(each.pid, each)
    }
    await sleep(pollMs)
  }
  return [...ended.values()]
}
