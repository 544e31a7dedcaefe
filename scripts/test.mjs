#!/usr/bin/env node
// Runs the tests and ends with one plain line: "N passed, N failed".
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const report = join(root, ".cache/test-report.json")
mkdirSync(dirname(report), { recursive: true })
rmSync(report, { force: true })

const run = spawnSync(
  process.execPath,
  [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    ...process.argv.slice(2)
  ],
  { cwd: root, stdio: "inherit" }
)

const read = () => {
  try {
    return JSON.parse(readFileSync(report, "utf8"))
  } catch {
    return { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, numFailedTestSuites: 1, success: false }
  }
}

const result = read()
const broken = result.success || result.numFailedTests > 0 ? 0 : Math.max(1, result.numFailedTestSuites)
const failed = result.numFailedTests + broken + (run.status !== 0 && result.numFailedTests + broken === 0 ? 1 : 0)
const skipped = result.numPendingTests > 0 ? `, ${result.numPendingTests} skipped` : ""
process.stdout.write(`${result.numPassedTests} passed, ${failed} failed${skipped}\n`)
process.exit(failed === 0 && result.numPassedTests > 0 ? 0 : 1)
