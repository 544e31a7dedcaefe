#!/usr/bin/env node
// Records the examples of the OpenAPI document anew: of every operation from the tests of the contract, then those of the end-to-end story,
// which runs the real agent (`node scripts/setup.mjs --harness alpha` installs it). Writes the document with them.
import { spawnSync } from "node:child_process"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const cwd = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const env = { ...process.env, REINS_RECORD_EXAMPLES: "1", REINS_WRITE_OPENAPI: "1" }
const tests = [
  ["packages/server/test/contract/Recorded.test.ts"],
  ["packages/server/agents/EndToEnd.test.ts", "--mode", "agents"],
  ["packages/server/test/contract/OpenApi.test.ts"]
]

for (const test of tests) {
  const args = ["node_modules/vitest/vitest.mjs", "run", ...test]
  const run = spawnSync(process.execPath, args, { cwd, stdio: "inherit", env })
  if (run.status !== 0) process.exit(run.status ?? 1)
}

const formatted = spawnSync("npx", ["biome", "check", "--write", "packages/server/src/http/openapi/examples.json"], {
  cwd,
  stdio: "inherit"
})
process.exit(formatted.status ?? 1)
