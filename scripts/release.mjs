#!/usr/bin/env node
// Versions and releases, by the files in `.changeset`: `npm run release -- version` gives the packages their next version and brings the lock
// file along, `npm run release -- publish` publishes what the registry lacks, `npm run release -- add` writes the file of a change.
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { installTools, run } from "./tools.mjs"

const root = resolve(fileURLToPath(import.meta.url), "../..")
const changeset = (...args) =>
  run(process.execPath, [join(root, "packages/testing/tools/node_modules/@changesets/cli/bin.js"), ...args])

installTools()
const [command = "add", ...args] = process.argv.slice(2)
// Packages are published beside each other, and each would make the build.
if (command === "publish") run(process.execPath, ["scripts/setup.mjs", "--declarations"])
// Its version is theirs, and they ask for it, so it comes first.
if (command === "publish") run(process.execPath, ["scripts/driver.mjs", "publish"])
changeset(command, ...args)
if (command === "version") run(process.execPath, ["scripts/driver.mjs", "version"])
if (command === "version")
  run("npm", ["install", "--package-lock-only", "--omit-lockfile-registry-resolved", "--no-audit", "--no-fund"])
