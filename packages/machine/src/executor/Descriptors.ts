import { openSync, readdirSync, readFileSync } from "node:fs"
import { hasProc } from "@reins/base/base/ProcFs"

const closedOnExec = 0o2000000

/** False also for a descriptor that is gone, as the one of the listing itself. */
const isInherited = (descriptor: number): boolean => {
  try {
    const flags = /^flags:\t([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1] ?? "0"
    return (Number.parseInt(flags, 8) & closedOnExec) === 0
  } catch {
    return false
  }
}

/**
 * The descriptors that whoever started this process has left open, and that its own processes would inherit. Only `/proc` tells them, and a
 * system without it has no sandbox that they could lead out of.
 */
const leaked = (): ReadonlyArray<number> => {
  if (!hasProc()) return []
  return readdirSync("/proc/self/fd")
    .map(Number)
    .filter((descriptor) => descriptor > 2 && isInherited(descriptor))
}

let known: { readonly descriptors: ReadonlyArray<number>; readonly nothing: number } | undefined

/**
 * The standard streams of a process, and pipes above them, with nothing in the place of the descriptors that this process has inherited. One
 * of them could be a directory of the machine, which leads out of every sandbox. Node opens none of its own that are inherited.
 */
export const streams = (pipes: number): Array<"pipe" | "ignore" | number> => {
  known ??= { descriptors: leaked(), nothing: openSync("/dev/null", "r") }
  const { descriptors, nothing } = known
  const all: Array<"pipe" | "ignore" | number> = ["pipe", "pipe", "pipe", ...Array<"pipe">(pipes).fill("pipe")]
  for (const descriptor of descriptors) {
    while (all.length <= descriptor) all.push("ignore")
    if (all[descriptor] === "ignore") all[descriptor] = nothing
  }
  return all
}
