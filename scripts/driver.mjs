#!/usr/bin/env node
// The package @reins/sqlite-node20 is no workspace, so a release brings it along by hand: `node scripts/driver.mjs version` gives it the version of
// the others, and `node scripts/driver.mjs publish` publishes it where the registry lacks that version.
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = resolve(fileURLToPath(import.meta.url), "../..")
const read = (path) => JSON.parse(readFileSync(join(root, path), "utf8"))
const file = "packages/sqlite-node20/package.json"
const { version } = read("packages/core/package.json")

const steps = {
  version: () => writeFileSync(join(root, file), `${JSON.stringify({ ...read(file), version }, null, 2)}\n`),
  publish: () => {
    const { name } = read(file)
    const npm = (args, stdio) =>
      spawnSync("npm", args, { cwd: join(root, "packages/sqlite-node20"), stdio, encoding: "utf8" })
    if (npm(["view", `${name}@${version}`, "version"], "pipe").stdout.trim() === version) return
    const { status } = npm(["publish"], "inherit")
    if (status !== 0) process.exit(status ?? 1)
  }
}

const step = steps[process.argv[2]]
if (step === undefined) {
  process.stderr.write("Usage: node scripts/driver.mjs version | publish\n")
  process.exit(2)
}
step()
