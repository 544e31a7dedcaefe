import { existsSync, readFileSync } from "node:fs"
import type { Platform } from "./Manifest.js"

let knownLibc: Platform["libc"]

/** The C library of this machine. The script `ldd` names it; where there is none, the report of Node does, which takes longer. */
const libc = (): Platform["libc"] => {
  if (process.platform !== "linux") return undefined
  knownLibc ??= toldByLdd() ?? (glibcVersion() === undefined ? "musl" : "glibc")
  return knownLibc
}

const toldByLdd = (): Platform["libc"] => {
  try {
    const script = readFileSync("/usr/bin/ldd", "latin1")
    return script.includes("musl") ? "musl" : script.includes("GNU C Library") ? "glibc" : undefined
  } catch {
    return undefined
  }
}

const glibcVersion = (): unknown => {
  const { report } = process
  // The report would look up the names of hosts otherwise. The types of Node 20 do not have the setting.
  const before = Reflect.get(report, "excludeNetwork") === true
  Reflect.set(report, "excludeNetwork", true)
  try {
    const header: unknown = Reflect.get(report.getReport(), "header")
    return typeof header === "object" && header !== null ? Reflect.get(header, "glibcVersionRuntime") : undefined
  } finally {
    Reflect.set(report, "excludeNetwork", before)
  }
}

const cpuFlags = (): ReadonlySet<string> => {
  if (!existsSync("/proc/cpuinfo")) return new Set()
  const line = readFileSync("/proc/cpuinfo", "utf8")
    .split("\n")
    .find((each) => each.startsWith("flags"))
  return new Set(line?.split(/\s+/))
}

/** The first platform of a manifest that this machine can run; undefined when there is none. */
export const select = (platforms: ReadonlyArray<Platform>): Platform | undefined => {
  const flags = cpuFlags()
  return platforms.find(
    (platform) =>
      platform.os === process.platform &&
      platform.cpu === process.arch &&
      (platform.libc === undefined || platform.libc === libc()) &&
      (platform.cpu_flags ?? []).every((flag) => flags.has(flag))
  )
}

/** A system that an agent is pinned for. `libc` is null where any will do. */
type System = Pick<Platform, "cpu" | "os"> & { readonly libc: "glibc" | "musl" | null }

/** The systems of the platforms of a manifest, each once. */
export const systemsOf = (platforms: ReadonlyArray<Platform>): ReadonlyArray<System> => {
  const found = new Map<string, System>()
  for (const { cpu, libc = null, os } of platforms) found.set(`${os} ${cpu} ${libc}`, { os, cpu, libc })
  return [...found.values()]
}

const names: Readonly<Record<string, string>> = { linux: "Linux", darwin: "macOS", win32: "Windows" }

const inWords = (os: string, cpu: string, libc: string | null | undefined): string =>
  `${names[os] ?? os} on ${cpu}${libc === null || libc === undefined ? "" : ` with ${libc}`}`

/** Systems in words for people, as "Linux on x64 with glibc, macOS on arm64". */
export const systemsInWords = (systems: ReadonlyArray<System>): string =>
  systems.map(({ cpu, libc, os }) => inWords(os, cpu, libc)).join(", ")

/** This machine in the same words. */
export const thisMachine = (): string => inWords(process.platform, process.arch, libc())
