import { Files } from "./Files.js"

/** Reads and writes below a root that nobody can lead out of. */
export const files = {
  name: "files",
  layer: Files.layer
} as const
