import { existsSync, readFileSync } from "node:fs"
import type { Platform } from "./Manifest.js"

const libc = (): Platform["libc"] => (existsSync("/etc/alpine-release") ? "musl" : "glibc")

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
