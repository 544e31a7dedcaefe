import { execFile, execFileSync } from "node:child_process"
import { promisify } from "node:util"
import { type Mark, markEntry } from "@reins/base/base/Mark"
import type { ReapedProcess } from "./Executor.js"
import { familyIn, type Listed, psArguments } from "./PsFamily.js"

// The processes of agents where the kernel shows none below /proc: by `ps`, which tells parents and groups, and environments of most programs.

const options = () => ({
  encoding: "utf8" as const,
  env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", LC_ALL: "C" },
  maxBuffer: 256 * 1024 * 1024
})

const cannotList = (cause: unknown) =>
  new Error("The processes of agents cannot be listed: `ps` does not work for the user of the service. Install it.", {
    cause
  })

const list = (): Promise<string> =>
  promisify(execFile)("ps", [...psArguments(process.platform)], options()).then(
    ({ stdout }) => stdout,
    (cause) => Promise.reject(cannotList(cause))
  )

let inFlight: Promise<string> | undefined
let next: Promise<string> | undefined
const again = (): Promise<string> => {
  next = undefined
  return listProcesses()
}

/** A listing that begins after the call. Those who ask while one is made share the next. */
const listProcesses = (): Promise<string> => {
  if (inFlight !== undefined) {
    next ??= inFlight.then(again, again)
    return next
  }
  inFlight = list().finally(() => {
    inFlight = undefined
  })
  return inFlight
}

const listProcessesNow = (): string => {
  try {
    return execFileSync("ps", [...psArguments(process.platform)], { ...options(), stdio: ["ignore", "pipe", "ignore"] })
  } catch (cause) {
    throw cannotList(cause)
  }
}

/** The processes that were seen in a family, with their starts, by the entry of its mark. A process is a member as long as it lives. */
const noted = new Map<string, Map<number, string>>()

const members = (text: string, marks: ReadonlyArray<Mark>): ReadonlyArray<Listed> => {
  const entries = marks.map(markEntry)
  const before = new Map(entries.flatMap((entry) => [...(noted.get(entry) ?? [])]))
  const found = familyIn(text, { entries, noted: before }, process.pid)
  if (found === undefined) throw cannotList(undefined)
  const living = found.filter(({ alive }) => alive)
  // Only of one mark it is known whose processes they are.
  const [entry] = entries
  if (entry !== undefined && entries.length === 1)
    if (living.length === 0) noted.delete(entry)
    else noted.set(entry, new Map(found.map(({ pid, start }) => [pid, start])))
  return living
}

const shown = ({ pid, words }: Listed): ReapedProcess => ({ pid, command: words[0] ?? "" })

/**
 * The living processes of the families of the marks: what bears one in its environment, all children of those, and all of their groups. What
 * was seen in a family stays in it, also when it is orphaned later.
 */
export const findMarkedByPs = async (marks: ReadonlyArray<Mark>): Promise<ReadonlyArray<ReapedProcess>> =>
  members(await listProcesses(), marks).map(shown)

/** `bearing` for a service that ends at once and can wait for nothing. */
export const findMarkedNow = (marks: ReadonlyArray<Mark>): ReadonlyArray<ReapedProcess> =>
  marks.length === 0 ? [] : members(listProcessesNow(), marks).map(shown)

/** True while a process group has a living member. */
export const groupAliveByPs = async (group: number): Promise<boolean> => {
  const found = familyIn(await listProcesses(), { entries: [], group }, process.pid)
  if (found === undefined) throw cannotList(undefined)
  return found.some((each) => each.alive && each.group === group)
}
