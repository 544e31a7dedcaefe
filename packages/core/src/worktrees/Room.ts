import { Effect } from "effect"
import { Bench } from "../bench/Bench.js"
import { worktreeEvents } from "./Events.js"
import { layer } from "./Services.js"
import { Snapshots } from "./snapshots/Snapshots.js"

/** The files of sessions: leases, setups, stores of objects and snapshots. */
export const worktrees = {
  name: "worktrees",
  layer,
  tables: ["snapshots"],
  events: worktreeEvents,
  sweeps: {
    blobs: Effect.map(Snapshots, ({ collect }) => collect),
    files: Effect.map(Bench, ({ disk }) => disk.sweep)
  }
} as const
