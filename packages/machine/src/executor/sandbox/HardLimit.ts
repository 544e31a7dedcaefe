import { readFileSync } from "node:fs"

/** The most that this process may set a limit to, by the name of the limit in /proc. Only root could raise it. */
export const hardLimit = (name: string): number => {
  const line = new RegExp(`^${name} +\\S+ +(\\d+)`, "m").exec(readFileSync("/proc/self/limits", "utf8"))
  return line?.[1] === undefined ? Number.MAX_SAFE_INTEGER : Number(line[1])
}
