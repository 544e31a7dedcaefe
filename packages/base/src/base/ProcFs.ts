import { existsSync } from "node:fs"

const isThere = existsSync("/proc/self/fd") && existsSync("/proc/self/environ")

/**
 * True where the kernel shows processes and open files below `/proc`, as Linux does. `REINS_WITHOUT_PROC=1` makes Linux work as a system
 * that has none, so that those ways can be tried.
 */
export const hasProc = (): boolean => isThere && process.env["REINS_WITHOUT_PROC"] !== "1"

/** This system in words, for messages about what needs another one. */
export const thisSystem = (): string =>
  `${process.platform} on ${process.arch}${process.platform === "linux" && !hasProc() ? " without /proc" : ""}`
