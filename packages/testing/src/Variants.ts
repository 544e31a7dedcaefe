import { describe } from "@effect/vitest"
import { rows } from "./Volume.js"

/** Tests of more ways to promises of which `npm test` has a row. `npm run test:matrix` and a soak run them. */
export const variants = (tests: () => void): void => {
  if (rows !== "first") describe("variants", tests)
}
