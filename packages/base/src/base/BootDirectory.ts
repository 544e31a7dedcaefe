import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"

/** The end of a boot's id, because the path of a socket has to be short. */
const shortOf = (bootId: string): string => bootId.slice(-12)

const kinds = ["ssh", "way"] as const

/** `mkdtemp` ends a name with six of these. Everybody may name something in the temporary directory, so only a name in this form is removed. */
const letter = "[A-Za-z0-9]"
const bootDirectoryName = new RegExp(`^reins-(?:${kinds.join("|")})-([^-]+)-${letter}{6}$`)

/**
 * Makes a directory in the temporary directory, which only the user of the service may read. Its name has the boot, so that the next start finds it
 * after a kill.
 */
export const makeBootDirectory = (kind: (typeof kinds)[number], bootId: string): Promise<string> =>
  mkdtemp(join(tmpdir(), `reins-${kind}-${shortOf(bootId)}-`))

/** Removes the directories that ended boots have left. One that cannot be removed is logged. */
export const removeBootDirectories = (bootIds: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const ended = new Set(bootIds.map(shortOf))
    if (ended.size === 0) return
    const names = yield* toldIfNot(tmpdir(), [], () => readdir(tmpdir(), { encoding: "latin1" }))
    for (const name of names) {
      const [, boot = ""] = bootDirectoryName.exec(name) ?? []
      if (!ended.has(boot)) continue
      const path = join(tmpdir(), name)
      yield* toldIfNot(path, undefined, () => rm(path, { recursive: true, force: true }))
    }
  })

/** Does work at a path. A failure is logged, and gives `otherwise`. */
const toldIfNot = <A>(path: string, otherwise: A, work: () => Promise<A>): Effect.Effect<A> =>
  Effect.catchAll(Effect.tryPromise(work), ({ error }) =>
    Effect.as(
      Effect.logWarning("what an ended process of the service has left could not be removed", {
        path,
        error: String(error)
      }),
      otherwise
    )
  )

/** The same names for a shell, which has the directory and the boot as its arguments. */
const patterns = kinds.map((kind) => `"$1"/reins-${kind}-"$2"-${letter.repeat(6)}`)

/** The command that removes the directories of a boot, for a process beside the service that may have to do it alone. */
export const bootDirectoryRemoval = (bootId: string) => ({
  words: ["/bin/sh", "-c", `rm -rf -- ${patterns.join(" ")}`, "sh", tmpdir(), shortOf(bootId)],
  environment: {}
})
