#!/usr/bin/env node
// Writes the OpenAPI document of the service, as its sources give it, to packages/server/openapi.json.
import { spawnSync } from "node:child_process"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const run = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "packages/server/test/contract/OpenApi.test.ts", "-t", "is the file"],
  {
    cwd: resolve(dirname(fileURLToPath(import.meta.url)), ".."),
    stdio: "inherit",
    env: { ...process.env, REINS_WRITE_OPENAPI: "1" }
  }
)
process.exit(run.status ?? 1)
