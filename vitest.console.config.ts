import { defineConfig } from "vitest/config"
import shared from "./vitest.config.js"

const { resolve = {}, ssr = {} } = shared

/** The console in Chromium, on published servers with the scripted gateway. Two files run side by side, each with a server and a browser. */
export default defineConfig({
  resolve,
  ssr,
  test: {
    include: ["packages/console/test/**/*.test.ts"],
    globalSetup: ["./scripts/client.mjs"],
    testTimeout: 600_000,
    hookTimeout: 120_000,
    pool: "forks",
    poolOptions: { forks: { minForks: 1, maxForks: 2 } }
  }
})
