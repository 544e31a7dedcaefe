#!/usr/bin/env node
// Runs `npm start` on a free port and a new data directory, asks whether the server is healthy, ends it with SIGTERM, and fails unless its
// status is then 0 and it said nothing of a crash.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { root } from "./suites.mjs"

const directory = mkdtempSync(join(tmpdir(), "reins-started-"))
process.once("exit", () => rmSync(directory, { recursive: true, force: true }))

const child = spawn("npm", ["start", "--silent", "--", "--port", "0", "--data-dir", join(directory, "data")], {
  cwd: root,
  // Signals go to npm and what it has started, as those of a terminal and of systemd do.
  detached: true,
  stdio: ["ignore", "pipe", "pipe"]
})
let said = ""
child.stderr.on("data", (chunk) => {
  said += String(chunk)
})
const ended = once(child, "close")

const fail = (text) => {
  process.stderr.write(`npm start ${text}\n${said}`)
  process.exit(1)
}

const line = await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended.then(() => null)])
if (line === null) fail("ended before it was ready.")
const { url } = JSON.parse(line[0])
const health = await fetch(new URL("/healthz", url))
if (!health.ok) fail(`answered ${health.status}.`)
await health.text()
process.kill(-child.pid, "SIGTERM")
const [status, signal] = await ended
if (status !== 0) fail(`ended with ${status ?? signal}.`)
if (/abort|assert|fatal|core dumped/i.test(said)) fail("told of a crash.")
process.stdout.write(`npm start runs, answers and ends with 0 on Node ${process.versions.node}.\n`)
