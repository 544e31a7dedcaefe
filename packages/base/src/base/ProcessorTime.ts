import { readFileSync } from "node:fs"

/** The processor time of this thread, in microseconds. Where the system does not tell it, that of the process, whose other threads count too. */
export const processorMicros = (): number => {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1000
  } catch {
    const { system, user } = process.cpuUsage()
    return system + user
  }
}
