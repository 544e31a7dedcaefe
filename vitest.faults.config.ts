import { defineConfig } from "vitest/config"
import shared from "./vitest.config.js"

const { resolve = {}, ssr = {} } = shared

/** Three machines with a network of their own, and what goes wrong with one of them. `scripts/cluster.mjs` makes the place for it. */
export default defineConfig({
  resolve,
  ssr,
  test: {
    globalSetup: ["./scripts/client.mjs"],
    include: ["packages/server/cluster/faults/**/*.test.ts"],
    pool: "forks",
    poolOptions: { forks: { maxForks: 3 } },
    testTimeout: 600_000,
    hookTimeout: 120_000
  }
})
