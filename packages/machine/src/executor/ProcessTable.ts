import { readdirSync, readFileSync } from "node:fs"
import { readdir, readFile, readlink } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { type Mark, markEntry } from "@reins/base/base/Mark"
import { hasProc } from "@reins/base/base/ProcFs"
import type { ReapedProcess } from "./Executor.js"
import { markLimit } from "./Marks.js"
import * as PsTable from "./PsTable.js"

/** True for the failures to read a process that is not ours. It may have ended since the listing (ESRCH, ENOENT), or belong to another user. */
const notOurs: ReadonlySet<unknown> = new Set(["ENOENT", "ESRCH", "EACCES", "EPERM"])

// Any other failure, such as too many open files, says nothing about the process, so the process is not passed over.
const orNotOurs = (error: unknown): string => {
  if (error instanceof Error && "code" in error && notOurs.has(error.code)) return ""
  throw error
}

const readProc = (pid: number, file: string): Promise<string> =>
  readFile(`/proc/${pid}/${file}`, "latin1").catch(orNotOurs)

/**
 * The group of a process, its state and its start, in ticks since the machine started. A zombie has ended, although its parent has not
 * collected it. The read is synchronous, because the kernel answers without looking into the memory of the process, so no process can delay it.
 */
const status = (pid: number): { readonly group: number; readonly alive: boolean; readonly startedAt: number } => {
  const stat = readStat(pid)
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const [state = "X", , group = "0"] = fields
  return {
    group: Number(group),
    alive: stat !== "" && state !== "Z" && state !== "X",
    startedAt: Number(fields[startField] ?? 0)
  }
}

/** Counted from the field after the name of the program. */
const startField = 19

const readStat = (pid: number): string => readNow(pid, "stat")

const readNow = (pid: number, file: "stat" | "limits"): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1")
  } catch (error) {
    return orNotOurs(error)
  }
}

/** The start of a process, for `bearing`. Zero when it is not known, so that no process is left out. */
export const startOf = (pid: number): number => (hasProc() ? status(pid).startedAt : 0)

const otherProcesses = async (): Promise<ReadonlyArray<number>> => {
  const entries = await readdir("/proc")
  return entries
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => pid !== process.pid)
}

/** The number of processes that are read together, because each takes a descriptor. */
const atOnce = 64

/** A line that stands in the limits of a process that bears one of the marks. */
const limitOf = (marks: ReadonlyArray<Mark>): RegExp =>
  new RegExp(`^Max realtime timeout .*\\b(?:${marks.map(markLimit).join("|")})\\b`, "m")

const bears = (marks: ReadonlyArray<Mark>): ((pid: number) => Promise<boolean>) => {
  const entries = new Set(marks.map(markEntry))
  const limit = limitOf(marks)
  return async (pid) =>
    (await readProc(pid, "environ")).split("\0").some((entry) => entries.has(entry)) ||
    limit.test(await readProc(pid, "limits"))
}

const findLiving = async (
  pids: ReadonlyArray<number>,
  isWanted: (pid: number) => Promise<boolean>
): Promise<ReadonlyArray<ReapedProcess>> => {
  const look = async (pid: number): Promise<ReadonlyArray<ReapedProcess>> =>
    (await isWanted(pid)) && status(pid).alive
      ? [{ pid, command: (await readProc(pid, "cmdline")).split("\0")[0] ?? "" }]
      : []
  const found: Array<ReapedProcess> = []
  for (let first = 0; first < pids.length; first += atOnce) {
    found.push(...(await Promise.all(pids.slice(first, first + atOnce).map(look))).flat())
  }
  return found
}

/**
 * The living processes that bear one of the marks, in their environment or in their limits. The mark is read from the process itself, so
 * another process that got the same pid meanwhile is never taken for ours. Without `/proc`, `ps` finds them with their families.
 */
export const findMarked = async (...marks: ReadonlyArray<Mark>): Promise<ReadonlyArray<ReapedProcess>> =>
  hasProc() ? findLiving(await otherProcesses(), bears(marks)) : PsTable.findMarkedByPs(marks)

/** Notes the family of a mark while parents live: `ps` tells a child without its environment by its parent alone. `/proc` needs no notes. */
export const note = async (mark: Mark): Promise<void> => {
  if (!hasProc()) await PsTable.findMarkedByPs([mark])
}

const processesSince = async (since: number): Promise<ReadonlyArray<number>> =>
  (await otherProcesses()).filter((pid) => status(pid).startedAt >= since)

/** The living processes that bear the mark. Processes that are older than the first one with the mark are not read. */
export const findMarkedSince = async (mark: Mark, since: number): Promise<ReadonlyArray<ReapedProcess>> =>
  hasProc() ? findLiving(await processesSince(since), bears([mark])) : PsTable.findMarkedByPs([mark])

/** The living processes of a process namespace, which none of them can leave. It is named by its number; `since` is as for `bearingSince`. */
export const inNamespaceSince = async (namespace: string, since: number): Promise<ReadonlyArray<ReapedProcess>> =>
  findLiving(
    await processesSince(since),
    async (pid) => (await readlink(`/proc/${pid}/ns/pid`).catch(orNotOurs)) === `pid:[${namespace}]`
  )

/** True when a living process bears the mark. `since` is as for `bearingSince`. */
export const isBorne = async (mark: Mark, since: number): Promise<boolean> =>
  (await findMarkedSince(mark, since)).length > 0

/** Sends a signal. False when the target is gone. */
export const signal = (target: number, name: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(target, name)
  } catch {
    return false
  }
}

/** True while a process group has a living member. */
export const groupAlive = async (group: number): Promise<boolean> => {
  if (!signal(-group, 0)) return false
  if (!hasProc()) return PsTable.groupAliveByPs(group)
  for (const pid of await otherProcesses()) {
    const member = status(pid)
    if (member.alive && member.group === group) return true
  }
  return false
}

const killRounds = 200
const pollMs = 25

/**
 * Kills the processes that bear one of the marks and gives those that it killed. It repeats the search until it finds none, because a process
 * can fork while it is killed.
 */
export const end = async (...marks: ReadonlyArray<Mark>): Promise<ReadonlyArray<ReapedProcess>> => {
  const ended = new Map<number, ReapedProcess>()
  for (let round = 0; round < killRounds; round++) {
    const found = await findMarked(...marks)
    if (found.length === 0) break
    for (const each of found) {
      signal(each.pid, "SIGKILL")
      ended.set(each.pid, each)
    }
    await sleep(pollMs)
  }
  return [...ended.values()]
}

/**
 * Kills what bears one of the marks in its limits, for a service that ends at once and can wait for nothing. The kernel answers without looking
 * into the memory of a process, so none can delay it. It repeats the search until it finds none that is new.
 */
export const endNow = (marks: ReadonlyArray<Mark>): void => {
  if (marks.length === 0) return
  const ended = new Set<number>()
  for (let before = -1; ended.size > before; ) {
    before = ended.size
    for (const pid of limitedNow(marks)) {
      if (ended.has(pid)) continue
      signal(pid, "SIGKILL")
      ended.add(pid)
    }
  }
}

const limitedNow = (marks: ReadonlyArray<Mark>): ReadonlyArray<number> => {
  if (!hasProc()) return PsTable.findMarkedNow(marks).map(({ pid }) => pid)
  const limit = limitOf(marks)
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => pid !== process.pid && limit.test(readNow(pid, "limits")))
}
