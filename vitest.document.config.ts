import { defineConfig, mergeConfig } from "vitest/config"
import base from "./vitest.config.js"

/** The document before the tools that people use it with. `npm run test:document` installs them. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [] } },
  defineConfig({ test: { include: ["packages/server/document/**/*.test.ts"], testTimeout: 300_000 } })
)
