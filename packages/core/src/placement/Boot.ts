import { randomBytes } from "node:crypto"
import { readdirSync, rmSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import { isLocked, lockFile } from "../store/FileLock.js"

/**
 * This run of the process. Leases of executors and claims name it, so that the work of an ended process is told from the work of a running one.
 * It knows this machine alone; `Nodes` knows the others.
 */
export class Boot extends Context.Tag("@reins/core/placement/Boot")<
  Boot,
  {
    /** The machine. It stays the same across restarts. */
    readonly nodeId: string
    /** This run of the process. No other run ever has the same id. */
    readonly bootId: string
    /** True when no other process works on the database. The process of every other boot has then ended. */
    readonly alone: boolean
    /** The boots on the same data directory that have ended and were not forgotten. They may have left processes behind. */
    readonly ended: Effect.Effect<ReadonlyArray<string>>
    /** Takes a boot from the list, once nothing of it is left behind. */
    readonly forget: (bootId: string) => Effect.Effect<void>
  }
>() {
  /** A process that works on the database alone. It keeps no record of itself. */
  static readonly layerSingle = Layer.sync(Boot, () =>
    Boot.of({
      nodeId: hostname(),
      bootId: newBootId(),
      alone: true,
      ended: Effect.succeed([]),
      forget: () => Effect.void
    })
  )

  /**
   * A process that works on a data directory. It is recorded there before it starts anything, under a lock that ends with the process.
   * The next process learns from the lock that this one has ended, however it ended, and can end what it left behind.
   */
  static readonly layerOn = (dataDir: string, { alone }: { readonly alone: boolean }) =>
    Layer.scoped(
      Boot,
      Effect.gen(function* () {
        const bootId = newBootId()
        const record = (id: string) => join(dataDir, "boots", id)
        const forget = (id: string) => Effect.sync(() => rmSync(record(id), { force: true }))
        yield* Effect.acquireRelease(
          // Another process that checks the record holds its lock for a moment, so this one waits.
          Effect.sync(() => lockFile(record(bootId), { waitMs: 2000 })),
          (unlock) => Effect.zipRight(forget(bootId), Effect.sync(unlock))
        )
        return Boot.of({
          nodeId: hostname(),
          bootId,
          alone,
          ended: Effect.sync(() =>
            readdirSync(join(dataDir, "boots")).filter(
              (id) => id.startsWith(prefix) && id !== bootId && !isLocked(record(id))
            )
          ),
          forget
        })
      })
    )
}

const prefix = "boot_"

const newBootId = (): string => `${prefix}${randomBytes(12).toString("hex")}`
