import { defineConfig } from "vitest/config"
import shared from "./vitest.config.js"

const { resolve = {}, ssr = {} } = shared

/** Several published servers on one PostgreSQL, each with a data directory of its own, as machines have them. */
export default defineConfig({
  resolve,
  ssr,
  test: {
    globalSetup: shared.test?.globalSetup ?? [],
    include: ["packages/server/cluster/*.test.ts"],
    pool: "forks",
    poolOptions: { forks: { maxForks: 2 } },
    testTimeout: 300_000,
    hookTimeout: 120_000
  }
})
