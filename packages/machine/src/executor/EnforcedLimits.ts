import { type ResourceLimit, resourceLimits } from "@reins/base/domain/ExecutorLimits"
import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"

/** A limit, and the means that holds it. */
export const EnforcedLimit = Schema.Struct({
  value: field(Schema.NullOr(Schema.Number), "The most that one agent may take; null where nothing holds it."),
  enforced_by: field(
    Schema.NullOr(Schema.Literal("cgroup_v2", "cgroup_v1", "rlimit", "watch", "tmpfs")),
    "The means: `cgroup_v2` and `cgroup_v1` hold for all processes of an agent together, `rlimit` is a limit of the system on a user or a " +
      "process, `watch` looks every few seconds and ends the agent, `tmpfs` is the size of a directory in memory. Null where nothing holds it."
  )
}).annotations({ identifier: "EnforcedLimit", description: "A limit on one agent, and the means that holds it." })
export type EnforcedLimit = typeof EnforcedLimit.Type

/** The limits that an executor holds an agent to, with everything that the agent starts. */
export const EnforcedLimits = Schema.Struct({
  memory_bytes: field(EnforcedLimit, "Memory, without swap."),
  processes: field(EnforcedLimit, "Processes and threads."),
  processors: field(EnforcedLimit, "Processors, also in parts."),
  disk_bytes: field(EnforcedLimit, "The files of the workspace and of the agent's home together."),
  open_files: field(EnforcedLimit, "The files that one process may have open."),
  temporary_bytes: field(EnforcedLimit, "The files of `/tmp` and of `/dev/shm`, each.")
}).annotations({
  identifier: "EnforcedLimits",
  description: "What one agent may take of the machine, with everything that it starts."
})
export type EnforcedLimits = typeof EnforcedLimits.Type

const none: EnforcedLimit = { value: null, enforced_by: null }

/** The limits of an executor that holds none, or tells of none. */
export const noLimits: EnforcedLimits = {
  memory_bytes: none,
  processes: none,
  processors: none,
  disk_bytes: none,
  open_files: none,
  temporary_bytes: none
}

/** The limits that a session may lower: those that are held for each agent by itself. An rlimit counts what other agents have, too. */
export const lowerable = (limits: EnforcedLimits): ReadonlyArray<ResourceLimit> =>
  resourceLimits.filter((name) => {
    const means = limits[name].enforced_by
    return means !== null && means !== "rlimit"
  })
