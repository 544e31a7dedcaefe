import { hasProc } from "@reins/base/base/ProcFs"
import { fn } from "@reins/base/base/Traced"
import { Effect } from "effect"
import { environmentOf, inheritedVariables } from "./AgentEnvironment.js"
import type { Executor, Isolation } from "./Executor.js"
import { markLimits } from "./Marks.js"
import * as Supervision from "./Supervision.js"

/**
 * Every process of an agent bears the marks of its lease and of this boot. It inherits them in its environment and, where the machine allows
 * that, in a resource limit. Either mark is enough to find it, so a daemon in a session of its own that has cleared its environment is ended
 * too. Three things escape: a process that changes the limit on purpose, a process that clears its environment on a machine without the limit,
 * and work that is handed to a service of the machine (cron, systemd, a container engine), which was never a child.
 *
 * Without `/proc`, `ps` finds the processes with their children and groups. One escapes then that has left its environment, its group and its
 * parent before anybody looked, and after a crash also one whose environment `ps` does not show, as macOS hides that of its own programs.
 */
const isolationOf = (limited: boolean): Isolation => ({
  level: "none",
  process_group: true,
  own_home: true,
  filesystem: "shared",
  network: "shared",
  summary:
    "A process group with its own HOME and a short list of variables; no security boundary: the agent can do what the service's user can. " +
    endedWith(limited)
})

const endedWith = (limited: boolean): string => {
  if (!hasProc())
    return (
      "Its processes are ended with it as ps tells them: by environment, parent and group. " +
      "No promise holds for one that has left all three, nor after a crash for one whose environment the system hides."
    )
  return limited
    ? "Its processes are ended with it, also those that detach themselves and clear their environment."
    : "Its processes are ended with it, also those that detach themselves; without prlimit on Linux, not those that clear their environment."
}

/** Runs agents as processes of this machine and this user, for a boot of the service. */
export const make = (bootId: string): Effect.Effect<Executor> =>
  Effect.map(markLimits(bootId), ({ limit, supported }) => ({
    backend: "local",
    isolation: isolationOf(supported),
    spawn: fn("Executor.spawn")(
      Supervision.spawning((command) =>
        Effect.succeed({
          command: limit(command.leaseId, [command.executable, ...command.args]),
          environment: environmentOf(command, bootId, inheritedVariables)
        })
      )
    ),
    reap: Supervision.reap
  }))
