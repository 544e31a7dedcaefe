import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import type { Mark } from "@reins/base/base/Mark"
import { once } from "@reins/base/base/Once"
import { hasProc } from "@reins/base/base/ProcFs"
import { Effect } from "effect"

// Two limits on the time of a real-time process, in microseconds. Both are above 36,000 years, so they limit nothing. A process inherits them
// through every fork and exec, and cannot lose them by clearing its environment, by a session of its own or by another parent. It needs
// privileges or intent to change them. The lease is the lower one, because a soft limit is never above the hard one.
const bases = { lease: 1n << 60n, boot: 1n << 61n } as const

/** The mark as a number that fits a resource limit, with 56 bits of its id. */
export const markLimit = ({ id, kind }: Mark): string =>
  (bases[kind] + BigInt(`0x${createHash("sha256").update(id).digest("hex").slice(0, 14)}`)).toString()

/** The command that runs another one under the limits of a lease and a boot. */
const limiter = (leaseId: string, bootId: string): ReadonlyArray<string> => [
  "prlimit",
  `--rttime=${markLimit({ kind: "lease", id: leaseId })}:${markLimit({ kind: "boot", id: bootId })}`
]

/** The command with its marks in its limits. On a machine that cannot do that, it is the unchanged command. */
export type MarkByLimits = (leaseId: string, command: ReadonlyArray<string>) => ReadonlyArray<string>

/** Marks processes by their limits, on a machine that can. */
export const limitedBy =
  (bootId: string): MarkByLimits =>
  (leaseId, command) => [...limiter(leaseId, bootId), ...command]

/** True when this machine can mark processes by their limits, which takes `prlimit` of util-linux. A process tries it once. */
const hasPrlimit = Effect.runSync(
  once(
    Effect.promise(() => {
      const [program = "", ...args] = limiter("probe", "probe")
      return promisify(execFile)(program, [...args, "true"], { timeout: 10_000 }).then(
        () => true,
        () => false
      )
    })
  )
)

/** The way to mark processes by their limits, for a machine that can and shows them; the unchanged command on another one. */
export const markLimits = (
  bootId: string
): Effect.Effect<{ readonly supported: boolean; readonly limit: MarkByLimits }> =>
  Effect.map(hasProc() ? hasPrlimit : Effect.succeed(false), (supported) => ({
    supported,
    limit: supported ? limitedBy(bootId) : (_, command) => command
  }))
