import { defineConfig } from "vitest/config"
import shared from "./vitest.config.js"

const { resolve = {}, ssr = {} } = shared

/** Readers of the documentation who run every block of it, each with a server, forges and the real agent of their own. */
export default defineConfig({
  resolve,
  ssr,
  test: {
    include: ["packages/server/guides/**/*.test.ts"],
    setupFiles: ["./packages/testing/src/EffectMethods.ts"],
    pool: "forks"
  }
})
