import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
import { mkdir, rmdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { AgentLimits } from "@reins/base/base/AgentLimits"
import { Effect, type Scope } from "effect"
import { ExecutorError } from "../Executor.js"
import { exceeded } from "./Enforced.js"

/** The cgroup of one agent. */
export interface AgentCgroup {
  /** A process that writes its id here, and all that it starts, is under the limits. */
  readonly processes: string
  /** A sentence that says that the kernel has ended what was in it, for the memory that it needed; undefined when it has not. */
  readonly reason: () => string | undefined
}

/** The part of the tree of cgroups that this service may divide. */
export interface Cgroups {
  /** A cgroup with these limits. When the scope closes, what is left in it is killed and it is removed. */
  readonly make: (limits: AgentLimits) => Effect.Effect<AgentCgroup, ExecutorError, Scope.Scope>
}

const needed = ["cpu", "memory", "pids"] as const
const prefix = "reins-agent-"

const wordsOf = (file: string): ReadonlyArray<string> => readFileSync(file, "utf8").split(/\s+/).filter(Boolean)

/**
 * The cgroups of version 2 that were delegated to this process, as systemd does it with `Delegate=yes`; undefined where there are none. The
 * process has to be alone in its cgroup, because processes and parts cannot be in the same one and nobody else's process is moved.
 */
export const delegated = (
  root = "/sys/fs/cgroup",
  self = "/proc/self/cgroup",
  pid = process.pid
): Cgroups | undefined => {
  try {
    const own = /^0::(\/.*)$/m.exec(readFileSync(self, "utf8"))?.[1]
    if (own === undefined) return undefined
    const base = join(root, own)
    const offered = wordsOf(join(base, "cgroup.controllers"))
    if (!needed.every((name) => offered.includes(name))) return undefined
    if (wordsOf(join(base, "cgroup.procs")).join() !== String(pid)) return undefined
    for (const name of ["", "cgroup.subtree_control", "cgroup.procs"]) accessSync(join(base, name), constants.W_OK)
    divide(base, pid)
    return { make: (limits) => acquire(base, limits) }
  } catch {
    // Any of these files is missing or refused where nothing was delegated.
    return undefined
  }
}

/** Moves this process into a part of its own, so that the rest can be given to agents, and removes what an ended one has left. */
const divide = (base: string, pid: number) => {
  const server = join(base, "reins-server")
  mkdirSync(server, { recursive: true })
  writeFileSync(join(server, "cgroup.procs"), String(pid))
  writeFileSync(join(base, "cgroup.subtree_control"), needed.map((name) => `+${name}`).join(" "))
  for (const name of readdirSync(base)) {
    if (!name.startsWith(prefix)) continue
    try {
      rmdirSync(join(base, name))
    } catch {
      // It holds processes that are being ended.
    }
  }
}

let made = 0

const period = 100_000

const acquire = (base: string, limits: AgentLimits) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const directory = join(base, `${prefix}${process.pid}-${++made}`)
        await mkdir(directory)
        const set = (name: string, value: string) => writeFile(join(directory, name), value)
        await Promise.all([
          set("memory.max", String(limits.memoryBytes)),
          // A kernel that counts no swap has no such file.
          set("memory.swap.max", "0").catch(() => undefined),
          set("memory.oom.group", "1"),
          set("pids.max", String(limits.processes)),
          set("cpu.max", `${Math.round(limits.processors * period)} ${period}`)
        ])
        return directory
      },
      catch: () =>
        new ExecutorError({
          kind: "spawn_failed",
          message: `No cgroup can be made in ${base}, although it was delegated when the service started. Start the service again.`
        })
    }),
    (directory) => Effect.promise(() => remove(directory))
  ).pipe(
    Effect.map(
      (directory): AgentCgroup => ({
        processes: join(directory, "cgroup.procs"),
        reason: () => (outOfMemory(directory) ? exceeded("memory", limits.memoryBytes) : undefined)
      })
    )
  )

const outOfMemory = (directory: string): boolean => {
  try {
    return /^oom_kill [1-9]/m.test(readFileSync(join(directory, "memory.events"), "utf8"))
  } catch {
    return false
  }
}

const rounds = 40

/** A cgroup can be removed when its processes have ended, which takes the kernel a moment. */
const remove = async (directory: string): Promise<void> => {
  await writeFile(join(directory, "cgroup.kill"), "1").catch(() => undefined)
  for (let round = 0; round < rounds; round++) {
    try {
      return await rmdir(directory)
    } catch {
      await sleep(25)
    }
  }
}
