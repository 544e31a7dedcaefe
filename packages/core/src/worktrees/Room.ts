import { Effect } from "effect"
import { objectSweep } from "./ObjectSweep.js"
import * as operations from "./Operations.js"
import { layer } from "./Services.js"
import { setupSweep } from "./setup/SetupSweep.js"
import { Snapshots } from "./snapshots/Snapshots.js"

/** The files of sessions: leases, setups, stores of objects and snapshots. */
export const worktrees = {
  name: "worktrees",
  layer,
  operations,
  tables: ["snapshots"],
  sweeps: {
    setups: setupSweep,
    blobs: Effect.map(Snapshots, ({ collect }) => collect),
    objects: objectSweep
  }
} as const
