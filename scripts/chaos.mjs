#!/usr/bin/env node
// Runs the suite that breaks real servers on purpose: `npm run test:chaos [-- --minutes 30] [file ...]`.
import { spawnSync } from "node:child_process"
import { accessSync, constants, existsSync, readdirSync } from "node:fs"
import { delimiter, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const { positionals, values } = parseArgs({ allowPositionals: true, options: { minutes: { type: "string" } } })
const minutes = Number(values.minutes ?? "0")
if (!Number.isFinite(minutes) || minutes < 0) {
  process.stderr.write("--minutes has to be a number, as in: npm run test:chaos -- --minutes 30\n")
  process.exit(2)
}

const onPath = (name) =>
  (process.env.PATH ?? "").split(delimiter).some((directory) => existsSync(join(directory, name)))
/** Debian keeps the programs of PostgreSQL apart, by version. */
const ofPostgres = (name) => {
  const versions = "/usr/lib/postgresql"
  return (
    onPath(name) ||
    (existsSync(versions) && readdirSync(versions).some((version) => existsSync(join(versions, version, "bin", name))))
  )
}
const isRoot = process.getuid?.() === 0

/** What the suite cannot bring with it. Nothing of it is skipped where it is missing. */
const needs = [
  ["Linux", process.platform === "linux", "run it on Linux"],
  ["chromium", onPath("chromium"), "apt-get install chromium"],
  ["nginx", onPath("nginx") || existsSync("/usr/sbin/nginx"), "apt-get install nginx-light"],
  ["faketime", onPath("faketime"), "apt-get install faketime"],
  ["initdb and pg_dump", ofPostgres("initdb") && ofPostgres("pg_dump"), "apt-get install postgresql"],
  ["mkfs.ext4", onPath("mkfs.ext4") || existsSync("/usr/sbin/mkfs.ext4"), "apt-get install e2fsprogs"],
  ["root, to mount a small tmpfs and small disks", isRoot, "run it as root, as in a container of its own"],
  [
    "loop devices",
    existsSync("/dev/loop-control"),
    "give the container /dev/loop-control and /dev/loop*, as `docker run --privileged` does"
  ]
]
const missing = needs.filter(([, there]) => !there)
if (missing.length > 0) {
  for (const [name, , how] of missing) process.stderr.write(`The chaos suite needs ${name}: ${how}\n`)
  process.exit(1)
}

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
run(["scripts/test.mjs", "--config", "vitest.chaos.config.ts", ...positionals], {
  REINS_CHAOS_MINUTES: String(minutes)
})
