#!/usr/bin/env node
// Runs the suite that breaks real servers on purpose: `npm run test:chaos [-- file ...]`. `npm run soak` runs it in full.
import { spawnSync } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { requireNeeds } from "./needs.mjs"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
requireNeeds()

const run = (args, env = {}) => {
  const { status } = spawnSync(process.execPath, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...env }
  })
  if (status !== 0) process.exit(status ?? 1)
}

accessSync(join(root, "packages/server/dist/main.js"), constants.R_OK)
run(["node_modules/tsup/dist/cli-default.js", "--config", "tsup.config.ts", "--silent"], {
  REINS_BUILD_FAILPOINTS: "1"
})
run(["scripts/test.mjs", "--config", "vitest.chaos.config.ts", ...process.argv.slice(2)])
