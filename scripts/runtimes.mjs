#!/usr/bin/env node
// Runs the built client in Node, Deno, Bun, Chromium and Cloudflare's Workers: `npm run test:runtimes`. The runtimes are 350 MB, so they are
// installed when this is run for the first time, with the integrity that their lock file tells.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const runtimes = join(root, "packages/client/runtimes")

const run = (command, args, cwd = root) => {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit" })
  if (status !== 0) process.exit(status ?? 1)
}

const needs = [
  ["Linux on x64", process.platform === "linux" && process.arch === "x64", "run it there"],
  ["chromium", existsSync("/usr/bin/chromium"), "apt-get install chromium"]
]
const missing = needs.filter(([, there]) => !there)
for (const [name, , how] of missing) process.stderr.write(`The suite of runtimes needs ${name}: ${how}\n`)
if (missing.length > 0) process.exit(1)
run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], runtimes)
run(process.execPath, ["scripts/test.mjs", "--mode", "runtimes", ...process.argv.slice(2)])
