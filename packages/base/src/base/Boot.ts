import { randomBytes } from "node:crypto"
import { hostname } from "node:os"
import { Context, Effect, Layer } from "effect"

/**
 * This run of the process. Leases of executors and claims name it, so that the work of an ended process is told from the work of a running one.
 * It knows this machine alone; `Nodes` knows the others.
 */
export class Boot extends Context.Tag("@reins/core/base/Boot")<
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
}

/** The beginning of every boot's id. */
export const bootPrefix = "boot_"

/** An id for a boot that no other has. */
export const newBootId = (): string => `${bootPrefix}${randomBytes(12).toString("hex")}`
