#!/usr/bin/env node
// Runs the built client in Node, Deno, Bun, Chromium and Cloudflare's Workers: `npm run test:runtimes`. The runtimes are 350 MB, so they are
// installed when this is run for the first time, with the integrity that their lock file tells.
import { existsSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { installIn, run } from "./tools.mjs"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const runtimes = join(root, "packages/client/runtimes")

const needs = [
  ["Linux on x64", process.platform === "linux" && process.arch === "x64", "run it there"],
  ["chromium", existsSync("/usr/bin/chromium"), "apt-get install chromium"]
]
const missing = needs.filter(([, there]) => !there)
for (const [name, , how] of missing) process.stderr.write(`The suite of runtimes needs ${name}: ${how}\n`)
if (missing.length > 0) process.exit(1)
installIn(runtimes, "the runtimes of others")
run(process.execPath, ["scripts/test.mjs", "--mode", "runtimes", ...process.argv.slice(2)])
