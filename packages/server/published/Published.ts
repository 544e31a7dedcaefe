import { inject } from "vitest"
import type { Published } from "./Places.js"

declare module "vitest" {
  interface ProvidedContext {
    readonly published: Published
  }
}

/** The packages that the set-up of the suite has packed and installed. */
export const published = (): Published => inject("published")
