import { defineConfig } from "vitest/config"
import shared from "./vitest.config.js"

const { test, ...resolution } = shared

/** Turns of the real agents of alpha and beta, which cost seconds of a processor each. */
export default defineConfig({
  ...resolution,
  test: { ...test, include: ["packages/{core,server}/agents/**/*.test.ts"] }
})
