import { Exports } from "./Exports.js"

/** Sessions as files that people keep. */
export const exports = {
  name: "exports",
  layer: Exports.layer
} as const
