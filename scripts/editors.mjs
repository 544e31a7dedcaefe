#!/usr/bin/env node
// Drives `reins acp` with programs of others and the real agent of alpha: `npm run test:editors`. They are installed when this is run for the
// first time, with the integrity that their lock file tells, and run on Node 24.
import { join } from "node:path"
import { root } from "./suites.mjs"
import { installIn, run } from "./tools.mjs"

if (process.platform !== "linux" || process.arch !== "x64") {
  process.stderr.write("The suite of editors needs Linux on x64, for which npm has Node 24: run it there\n")
  process.exit(1)
}
installIn(join(root, "packages/server/editors"), "the editors of others")
run(process.execPath, ["scripts/test.mjs", "--mode", "editors", ...process.argv.slice(2)])
