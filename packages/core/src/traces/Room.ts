import { tracedTurns } from "./LoadedTraces.js"

/** Turns, model calls and tools of agents as the traces of agents are told of them. */
export const traces = {
  name: "traces",
  layer: tracedTurns
} as const
