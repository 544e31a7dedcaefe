#!/usr/bin/env node
// Runs the console in Chromium: `npm run test:console [-- file ...]`.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"

if (!existsSync("/usr/bin/chromium")) {
  process.stderr.write("The suite of the console needs chromium: apt-get install chromium\n")
  process.exit(1)
}
const { status } = spawnSync(process.execPath, ["scripts/test.mjs", "--mode", "console", ...process.argv.slice(2)], {
  cwd: resolve(dirname(fileURLToPath(import.meta.url)), ".."),
  stdio: "inherit"
})
process.exit(status ?? 1)
