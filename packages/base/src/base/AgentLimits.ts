import type { ExecutorLimits } from "../domain/ExecutorLimits.js"

/** The most that one agent may take of the machine, with everything that it starts, where its executor can hold it to that. */
export interface AgentLimits {
  /** Memory in bytes, without swap. */
  readonly memoryBytes: number
  /** Processes and threads. */
  readonly processes: number
  /** Processors, also in parts. */
  readonly processors: number
  /** The files of its workspace and its home together, and the size of any one file, in bytes. */
  readonly diskBytes: number
  /** The files that one process may have open. */
  readonly openFiles: number
  /** The files of its /tmp and its /dev/shm, each, in bytes. They are in memory. */
  readonly temporaryBytes: number
}

const gibibyte = 1024 ** 3

/** The limits of an installation that sets none. */
export const defaultAgentLimits: AgentLimits = {
  memoryBytes: 4 * gibibyte,
  processes: 1024,
  processors: 4,
  diskBytes: 20 * gibibyte,
  openFiles: 8192,
  temporaryBytes: gibibyte / 4
}

/** The limits of one agent: those of the server, lowered to those that its session asks for. */
export const lowered = (limits: AgentLimits, asked: ExecutorLimits = {}): AgentLimits => ({
  memoryBytes: Math.min(limits.memoryBytes, asked.memory_bytes ?? Infinity),
  processes: Math.min(limits.processes, asked.processes ?? Infinity),
  processors: Math.min(limits.processors, asked.processors ?? Infinity),
  diskBytes: Math.min(limits.diskBytes, asked.disk_bytes ?? Infinity),
  openFiles: limits.openFiles,
  temporaryBytes: Math.min(limits.temporaryBytes, asked.memory_bytes ?? Infinity)
})
