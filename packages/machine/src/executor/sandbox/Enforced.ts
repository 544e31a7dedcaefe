import type { AgentLimits } from "@reins/base/base/AgentLimits"
import type { EnforcedLimit, EnforcedLimits } from "../EnforcedLimits.js"

type Means = EnforcedLimit["enforced_by"]

/** The means that hold each limit; null for one that nothing holds. */
export interface MeansOf {
  readonly memory: Means
  readonly processes: Means
  readonly processors: Means
  readonly disk: Means
  readonly openFiles: Means
  readonly temporary: Means
}

const limit = (value: number, enforced_by: Means): EnforcedLimit => ({
  value: enforced_by === null ? null : value,
  enforced_by
})

/** The limits that are really held. */
export const enforced = (limits: AgentLimits, means: MeansOf): EnforcedLimits => ({
  memory_bytes: limit(limits.memoryBytes, means.memory),
  processes: limit(limits.processes, means.processes),
  processors: limit(limits.processors, means.processors),
  disk_bytes: limit(limits.diskBytes, means.disk),
  open_files: limit(limits.openFiles, means.openFiles),
  temporary_bytes: limit(limits.temporaryBytes, means.temporary)
})

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`

/** The reason for which an agent was ended that took more of something than it may have. */
export const exceeded = (what: "files" | "memory", mostBytes: number, usedBytes?: number): string => {
  const used = usedBytes === undefined ? "more than that" : `${Math.ceil(usedBytes / 1024 ** 2)} MiB`
  return `The agent was ended because it may have ${mebibytes(mostBytes)} of ${what}, and took ${used}.`
}

const words: Readonly<Record<NonNullable<Means>, string>> = {
  cgroup_v2: "by cgroup v2",
  cgroup_v1: "by cgroup v1",
  rlimit: "by rlimit",
  watch: "looked at every few seconds",
  tmpfs: "in memory"
}

/** The limits as a sentence for people. */
export const inWords = (limits: EnforcedLimits): string => {
  const named: ReadonlyArray<readonly [name: string, value: string, by: Means]> = [
    ["memory", mebibytes(limits.memory_bytes.value ?? 0), limits.memory_bytes.enforced_by],
    ["processes", String(limits.processes.value), limits.processes.enforced_by],
    ["processors", String(limits.processors.value), limits.processors.enforced_by],
    ["files", mebibytes(limits.disk_bytes.value ?? 0), limits.disk_bytes.enforced_by]
  ]
  const held = named.flatMap(([name, value, by]) => (by === null ? [] : [`${name} ${value} (${words[by]})`]))
  const free = named.flatMap(([name, , by]) => (by === null ? [name] : []))
  return `Limits: ${held.join(", ")}${free.length === 0 ? "" : `; none of ${free.join(", ")}`}.`
}
