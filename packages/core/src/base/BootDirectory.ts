import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"

/** The end of a boot's id, because the path of a socket has to be short. */
const shortOf = (bootId: string): string => bootId.slice(-12)

/** Everybody may name something in the temporary directory, so only a name that was made here counts. `mkdtemp` ends it with six characters. */
const bootDirectoryName = /^reins-[a-z]+-([^-]+)-[A-Za-z0-9]{6}$/

/**
 * Makes a directory in the temporary directory, which only the user of the service may read. Its name has the boot, so that the next start finds it
 * after a kill. `kind` is a word of small letters.
 */
export const makeBootDirectory = (kind: string, bootId: string): Promise<string> =>
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

/** The command that removes the directories of a boot, for a process beside the service that may have to do it alone. */
export const bootDirectoryRemoval = (bootId: string) => ({
  words: ["/bin/sh", "-c", 'rm -rf -- "$1"/reins-*-"$2"-??????', "sh", tmpdir(), shortOf(bootId)],
  environment: {}
})
