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
