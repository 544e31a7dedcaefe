import { defineConfig } from "vitest/config"
import shared from "./vitest.config.js"

const { resolve = {}, ssr = {} } = shared

/**
 * The suites of the executors, for the user without rights that the chaos suite makes, because containers are not run as root. That user cannot
 * write to the repository, so nothing is made before.
 */
export default defineConfig({
  resolve,
  ssr,
  cacheDir: process.env["HOME"] ?? "/tmp",
  test: {
    include: ["packages/core/test/executor/Executors.test.ts", "packages/core/test/executor/Container.test.ts"],
    setupFiles: shared.test?.setupFiles ?? [],
    testTimeout: 300_000,
    pool: "forks"
  }
})
