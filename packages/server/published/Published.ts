import { inject } from "vitest"
import type { Published } from "./Places.js"

declare module "vitest" {
  interface ProvidedContext {
    readonly published: Published
  }
}

/** What the set-up of the suite has packed and installed. */
export const published = (): Published => inject("published")
