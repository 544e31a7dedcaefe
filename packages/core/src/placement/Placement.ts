import { randomBytes } from "node:crypto"
import { hostname } from "node:os"
import { Context, Layer } from "effect"

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
  }
>() {
  /** One process owns the database and runs every session. */
  static readonly layerSingle = Layer.sync(Placement, () =>
    Placement.of({ nodeId: hostname(), bootId: `boot_${randomBytes(9).toString("base64url")}`, alone: true })
  )
}
