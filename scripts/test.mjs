#!/usr/bin/env node
// Runs the tests, says where the time went, and ends with one plain line: "N passed, N failed".
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { stripVTControlCharacters } from "node:util"
import { scratch } from "./scratch.mjs"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
// Suites may run beside each other.
const directory = mkdtempSync(join(tmpdir(), "reins-report-"))
const report = join(directory, "report.json")

// Some real agents run nothing in a directory in memory, and the other suites are about what is on disk.
const env = process.argv.includes("--mode") ? process.env : { ...process.env, TMPDIR: scratch() }

const started = Date.now()
const run = spawn(
  process.execPath,
  [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    ...process.argv.slice(2)
  ],
  { cwd: root, stdio: "inherit", env }
)
// What the run has written goes with it, also when it is stopped.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => run.kill(signal))
const [status] = await once(run, "exit")

const read = () => {
  try {
    return JSON.parse(readFileSync(report, "utf8"))
  } catch {
    return {
      numPassedTests: 0,
      numFailedTests: 1,
      numPendingTests: 0,
      success: false,
      testResults: []
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** The directory of a test, as `packages/core/test/jobs`. */
const groupByRoom = (files) => {
  const rooms = new Map()
  for (const file of files) rooms.set(dirname(file.path), [...(rooms.get(dirname(file.path)) ?? []), file])
  return rooms
}

const line = (seconds, count, what) =>
  `${seconds.toFixed(1).padStart(8)} s  ${String(count).padStart(4)} tests  ${what}\n`

const sayWhereTheTimeWent = (results) => {
  const files = results
    .map(({ assertionResults, endTime, name, startTime }) => ({
      path: relative(root, name),
      seconds: (endTime - startTime) / 1000,
      count: assertionResults.length
    }))
    .sort((one, other) => other.seconds - one.seconds)
  process.stdout.write("\nThe slowest files:\n")
  for (const { count, path, seconds } of files.slice(0, 15)) process.stdout.write(line(seconds, count, path))
  process.stdout.write("\nThe rooms, whose files run side by side:\n")
  const sum = (list, key) => list.reduce((total, each) => total + each[key], 0)
  const sums = [...groupByRoom(files)].map(([room, list]) => [sum(list, "seconds"), sum(list, "count"), room])
  for (const each of sums.sort(([one], [other]) => other - one)) process.stdout.write(line(...each))
  process.stdout.write(`\n${line((Date.now() - started) / 1000, sum(files, "count"), "in all")}`)
}

/** Whether a file has failed without a failed test: it could not be loaded, or a hook threw. */
const isBroken = ({ assertionResults, status }) =>
  status === "failed" && assertionResults.every((each) => each.status !== "failed")

/** Names each test that failed with why, and each file that could not be run: whoever reads only the end has it all. */
const sayWhatFailed = (results) => {
  // A program that was run tells why it failed in lines of its own. The stack comes after them.
  const reason = (text = "") =>
    stripVTControlCharacters(text)
      .split(/\n\s+at /, 1)[0]
      .replace(/\s+/g, " ")
      .trim()
      .slice(0, 600)
  const lines = results.flatMap((file) => {
    const path = relative(root, file.name)
    if (isBroken(file)) return [`${path}: ${reason(file.message)}`]
    const failures = file.assertionResults.filter((each) => each.status === "failed")
    return failures.map((each) => `${path} > ${each.fullName}: ${reason(each.failureMessages[0])}`)
  })
  if (lines.length > 0) process.stdout.write(`\nFailed:\n${lines.map((each) => `  FAIL ${each}\n`).join("")}\n`)
}

const result = read()
sayWhereTheTimeWent(result.testResults)
sayWhatFailed(result.testResults)
const broken = result.testResults.filter(isBroken).length
const failed = Math.max(result.numFailedTests + broken, result.success && status === 0 ? 0 : 1)
const skipped = result.numPendingTests > 0 ? `, ${result.numPendingTests} skipped` : ""
process.stdout.write(`${result.numPassedTests} passed, ${failed} failed${skipped}\n`)
process.exit(failed === 0 && result.numPassedTests > 0 ? 0 : 1)
