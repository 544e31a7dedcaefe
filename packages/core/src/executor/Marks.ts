import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { Effect } from "effect"

/** A mark by which the processes of a lease, or of a boot of the service, are recognised. */
export interface Mark {
  readonly kind: "lease" | "boot"
  readonly id: string
}

const variables = { lease: "REINS_LEASE", boot: "REINS_BOOT" } as const

/** The mark as an entry of an environment, which every process inherits unless it clears it. */
export const markEntry = ({ id, kind }: Mark): string => `${variables[kind]}=${id}`

export const markVariables = (marks: ReadonlyArray<Mark>): Record<string, string> =>
  Object.fromEntries(marks.map(({ id, kind }) => [variables[kind], id]))

// Two limits on the time of a real-time process, in microseconds, both above 36,000 years: they limit nothing. A process inherits
// them through every fork and exec, and needs privileges or intent to change them; clearing the environment, a session of its own
// and another parent do not. The lease is below the boot, since a soft limit is never above the hard one.
const bases = { lease: 1n << 60n, boot: 1n << 61n } as const

/** The mark as a number that fits a resource limit, with 56 bits of its id. */
export const markLimit = ({ id, kind }: Mark): string =>
  (bases[kind] + BigInt(`0x${createHash("sha256").update(id).digest("hex").slice(0, 14)}`)).toString()

/** The command that runs another one under the limits of a lease and a boot. */
const limiter = (leaseId: string, bootId: string): ReadonlyArray<string> => [
  "prlimit",
  `--rttime=${markLimit({ kind: "lease", id: leaseId })}:${markLimit({ kind: "boot", id: bootId })}`
]

/** The command that bears its marks in its limits. Where the machine cannot do that, it is the command as it was. */
export type Limit = (leaseId: string, command: ReadonlyArray<string>) => ReadonlyArray<string>

/** Looks whether this machine can mark processes by their limits: on Linux, with `prlimit` of util-linux. */
export const limitsOf = (bootId: string): Effect.Effect<{ readonly supported: boolean; readonly limit: Limit }> => {
  const [program = "", ...args] = limiter("probe", bootId)
  return Effect.promise(() =>
    promisify(execFile)(program, [...args, "true"], { timeout: 10_000 }).then(
      () => process.platform === "linux",
      () => false
    )
  ).pipe(
    Effect.map((supported) => ({
      supported,
      limit: (leaseId, command) => (supported ? [...limiter(leaseId, bootId), ...command] : command)
    }))
  )
}
