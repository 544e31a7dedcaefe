import { randomBytes } from "node:crypto"
import { readdirSync, rmSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import { isLocked, lockFile } from "../store/FileLock.js"

/** Which process this is. Leases name it, so that the work of a process that is gone can be told from the work of a living one. */
export class Placement extends Context.Tag("@reins/core/placement/Placement")<
  Placement,
  {
    /** The machine, across restarts. */
    readonly nodeId: string
    /** This run of the process; never used again. */
    readonly bootId: string
    /** True when no other process works on the same database, so that every lease of another boot belongs to the dead. */
    readonly alone: boolean
    /** Boots on the same data directory that have ended without having put away what they left. */
    readonly ended: Effect.Effect<ReadonlyArray<string>>
    /** Says that nothing is left of a boot that has ended: it is not listed again. */
    readonly forget: (bootId: string) => Effect.Effect<void>
  }
>() {
  /** One process owns the database and runs every session. It keeps no record of itself. */
  static readonly layerSingle = Layer.sync(Placement, () =>
    Placement.of({
      nodeId: hostname(),
      bootId: newBootId(),
      alone: true,
      ended: Effect.succeed([]),
      forget: () => Effect.void
    })
  )

  /**
   * A process that works on a data directory. It is recorded there before it starts anything, under a lock that ends with it, so that
   * whoever comes next can tell that it has ended, however it did, and find what it has left.
   */
  static readonly layerOn = (dataDir: string, { alone }: { readonly alone: boolean }) =>
    Layer.scoped(
      Placement,
      Effect.gen(function* () {
        const bootId = newBootId()
        const record = (id: string) => join(dataDir, "boots", id)
        // Whoever looks whether a record is held takes its lock for a moment.
        const forget = (id: string) => Effect.sync(() => rmSync(record(id), { force: true }))
        yield* Effect.acquireRelease(
          Effect.sync(() => lockFile(record(bootId), { waitMs: 2000 })),
          (unlock) => Effect.zipRight(forget(bootId), Effect.sync(unlock))
        )
        return Placement.of({
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
