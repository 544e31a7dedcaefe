import { defineConfig } from "vitest/config"
import shared from "./vitest.config.js"

const { resolve = {}, ssr = {} } = shared

/** The packages as others install them. `npm run test:packages` makes the build and installs the tools. */
export default defineConfig({
  resolve,
  ssr,
  test: {
    include: ["packages/server/published/*.test.ts"],
    globalSetup: ["packages/server/published/Setup.ts"],
    setupFiles: ["./packages/testing/src/EffectMethods.ts"],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    pool: "forks",
    poolOptions: { forks: { minForks: 2, maxForks: 2 } }
  }
})
