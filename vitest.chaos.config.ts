import { defineConfig, mergeConfig } from "vitest/config"
import shared from "./vitest.config.js"

/** The suite that breaks real servers on purpose. One file after the other: each wants the machine for itself. */
export default mergeConfig(
  { ...shared, test: { ...shared.test, include: [] } },
  defineConfig({
    test: {
      include: ["packages/*/chaos/**/*.test.ts"],
      testTimeout: 600_000,
      maxConcurrency: 2,
      fileParallelism: false
    }
  })
)
