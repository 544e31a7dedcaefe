#!/usr/bin/env node
// Runs both suites with the full volume of every random, statistical or long test: `npm run soak [-- --minutes 60]`. The random kills and
// the event storms go on for so many minutes more. It needs what the chaos suite needs, device files, and about an hour and a half.
import { spawn } from "node:child_process"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { requireNeeds } from "./needs.mjs"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const { values } = parseArgs({ options: { minutes: { type: "string", default: "0" } } })
const minutes = Number(values.minutes)
if (!Number.isFinite(minutes) || minutes < 0) {
  process.stderr.write("--minutes has to be a number, as in: npm run soak -- --minutes 60\n")
  process.exit(2)
}
requireNeeds()

const env = {
  ...process.env,
  REINS_SOAK: "1",
  REINS_SOAK_MINUTES: String(minutes),
  REINS_TEST_DEVICES: "required"
}

/** Runs a suite and gives the counts of its last line. A suite without that line has failed. */
const suite = (title, script) =>
  new Promise((done) => {
    process.stdout.write(`\n== ${title}\n`)
    const child = spawn(process.execPath, [script], { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] })
    let output = ""
    child.stdout.on("data", (chunk) => {
      process.stdout.write(chunk)
      output += chunk
    })
    child.on("close", (code) => {
      const [, passed = "0", failed = "1"] =
        /^(\d+) passed, (\d+) failed.*$/m.exec(output.trim().split("\n").at(-1)) ?? []
      done({ passed: Number(passed), failed: Math.max(Number(failed), code === 0 ? 0 : 1) })
    })
  })

const suites = [
  await suite("tests", "scripts/test.mjs"),
  await suite("real servers, broken on purpose", "scripts/chaos.mjs")
]
const [passed, failed] = ["passed", "failed"].map((end) => suites.reduce((sum, counts) => sum + counts[end], 0))
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exit(failed === 0 ? 0 : 1)
