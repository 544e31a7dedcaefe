import { describe } from "@effect/vitest"
import { rows } from "./Volume.js"

/** Tests of more ways to promises of which `npm test` has a row. `npm run test:matrix` and a soak run them. */
export const variants = (tests: () => void): void => {
  if (rows !== "first") describe("variants", tests)
}

/**
 * The rest of a suite of which `npm test` has a flow on both databases. It has the rest on SQLite, and the matrix on PostgreSQL, because the
 * suites of the stores have tried their SQL on both.
 */
export const restOn = (database: string): ((tests: () => void) => void) =>
  database === "SQLite" ? (tests) => tests() : variants
