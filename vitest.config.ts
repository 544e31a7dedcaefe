import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: { conditions: ["@reins/source"] },
  ssr: { resolve: { conditions: ["@reins/source"] } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "examples/*/test/**/*.test.ts"],
    globalSetup: ["./scripts/vitest-setup.ts"],
    setupFiles: ["./packages/testing/src/EffectMethods.ts"],
    // A process runs one file after the other and loads what they share once.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: "forks",
    poolOptions: { forks: { maxForks: 2 } }
  }
})
