#!/usr/bin/env node
// Holds the OpenAPI document to linters, generators and a validating proxy: `npm run test:document [-- file ...]`. The tools are large, so they
// are installed for this suite alone.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const tools = join(root, "packages/testing/tools")

const run = (command, args, cwd = root) => {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit" })
  if (status !== 0) process.exit(status ?? 1)
}

const stamp = join(tools, "node_modules/.stamp")
const lock = createHash("sha256")
  .update(readFileSync(join(tools, "package-lock.json")))
  .digest("hex")
if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== lock) {
  process.stderr.write("- installing the tools of the document (half a minute) ...\n")
  run("npm", ["ci", "--workspaces=false", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], tools)
  writeFileSync(stamp, lock)
}
run(process.execPath, ["scripts/test.mjs", "--config", "vitest.document.config.ts", ...process.argv.slice(2)])
