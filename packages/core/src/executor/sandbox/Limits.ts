import type { AgentCommand } from "../Executor.js"

/** The most that one agent may take of the machine, with everything that it starts. */
export interface AgentLimits {
  readonly memoryBytes: number
  readonly processes: number
  /** Processors, also in parts. */
  readonly processors: number
  /** The files of its workspace and its home together, and the size of any one file. */
  readonly diskBytes: number
  /** The files of its /tmp and its /dev/shm, each. They are in memory. */
  readonly temporaryBytes: number
}

const gibibyte = 1024 ** 3

export const defaultLimits: AgentLimits = {
  memoryBytes: 4 * gibibyte,
  processes: 1024,
  processors: 4,
  diskBytes: 20 * gibibyte,
  temporaryBytes: gibibyte / 4
}

/** The limits of one agent: those of the executor, lowered to what its command asks for. */
export const lowered = (limits: AgentLimits, asked: AgentCommand["limits"] = {}): AgentLimits => ({
  memoryBytes: Math.min(limits.memoryBytes, asked.memory_bytes ?? Infinity),
  processes: Math.min(limits.processes, asked.processes ?? Infinity),
  processors: Math.min(limits.processors, asked.processors ?? Infinity),
  diskBytes: Math.min(limits.diskBytes, asked.disk_bytes ?? Infinity),
  temporaryBytes: Math.min(limits.temporaryBytes, asked.memory_bytes ?? Infinity)
})

/** The number of files that one process may have open. */
export const openFiles = 8192
