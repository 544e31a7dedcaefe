import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import * as operations from "./Operations.js"
import { layer } from "./Services.js"
import { Snapshots } from "./snapshots/Snapshots.js"

/** Loaded where there are snapshots. */
const sealJob = Effect.flatMap(CoreConfig, ({ blobs }) =>
  blobs === null
    ? Effect.succeed(undefined)
    : Effect.flatMap(
        Effect.promise(() => import("./snapshots/SealJob.js")),
        ({ sealJob }) => sealJob
      )
)

/** The files of sessions: leases, setups, stores of objects and snapshots. */
export const worktrees = {
  name: "worktrees",
  layer,
  operations,
  tables: ["snapshots"],
  jobs: [sealJob],
  sweeps: {
    blobs: Effect.map(Snapshots, ({ collect }) => collect),
    files: Effect.map(Bench, ({ disk }) => disk.sweep)
  }
} as const
