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

/** The number of files that one process may have open. */
export const openFiles = 8192
