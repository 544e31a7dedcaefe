import { defineConfig } from "vitest/config"
import shared from "./vitest.config.js"

const { resolve = {}, ssr = {} } = shared

/** The built client in every runtime that it is made for. It needs Chromium, and programs that `scripts/runtimes.mjs` installs. */
export default defineConfig({
  resolve,
  ssr,
  test: { include: ["packages/client/runtimes/*.test.ts"], testTimeout: 120_000, pool: "forks" }
})
