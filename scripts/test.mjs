#!/usr/bin/env node
// Runs the tests, says where the time went, and ends with one plain line: "N passed, N failed".
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify, stripVTControlCharacters } from "node:util"
import { judged, limitOf } from "./cost.mjs"
import { scratch } from "./scratch.mjs"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
// Suites may run beside each other.
const directory = mkdtempSync(join(tmpdir(), "reins-report-"))
const report = join(directory, "report.json")
const usage = join(directory, "usage.jsonl")
const isOfMatrix = process.argv.includes("matrix")
const isMeasured = existsSync("/proc/self/stat")

// Some real agents run nothing in a directory in memory, and the other suites are about what is on disk.
const env = {
  ...process.env,
  ...(process.argv.includes("--mode") && !isOfMatrix ? {} : { TMPDIR: scratch() }),
  ...(isMeasured ? { REINS_TEST_USAGE: usage } : {})
}

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

/** Processor seconds of the yardstick, after twenty seconds and then once a minute while the tests run. */
const yards = []
const takeYard = async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["scripts/yardstick.mjs"], { cwd: root })
  yards.push(Number(stdout))
}
const isWhole = process.argv.length === 2 && process.env["REINS_SOAK"] !== "1"
const tryYard = () => void takeYard().catch(() => undefined)
const timers = isWhole && isMeasured ? [setTimeout(tryYard, 20_000), setInterval(tryYard, 60_000)] : []
const [status] = await once(run, "exit")
for (const timer of timers) clearInterval(timer)

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
  }
}

/** The directory of a test, as `packages/core/test/jobs`. */
const groupByRoom = (files) => {
  const rooms = new Map()
  for (const file of files) rooms.set(dirname(file.path), [...(rooms.get(dirname(file.path)) ?? []), file])
  return rooms
}

const seconds = (count) => `${count.toFixed(1).padStart(8)} s`
const line = (spent, count, what) => `${seconds(spent)}  ${String(count).padStart(4)} tests  ${what}\n`
const total = (numbers) => numbers.reduce((before, each) => before + each, 0)
const sum = (list, key) => total(list.map((each) => each[key]))

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
  const sums = [...groupByRoom(files)].map(([room, list]) => [sum(list, "seconds"), sum(list, "count"), room])
  for (const each of sums.sort(([one], [other]) => other - one)) process.stdout.write(line(...each))
  process.stdout.write(`\n${line((Date.now() - started) / 1000, sum(files, "count"), "in all")}`)
}

/** Processor seconds of the run: its workers, PostgreSQL, and every program that any of them has started. */
const usedInAll = () => {
  const text = readFileSync("/proc/self/stat", "utf8")
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  // Those of children that have ended and were waited for, in hundredths of a second.
  return (Number(fields[13]) + Number(fields[14])) / 100
}

const dearestFirst = (one, other) => other.own + other.programs - one.own - one.programs

/** Tells the processor seconds by file and room, workers and programs apart, and gives those of the whole run. */
const sayWhatItCost = () => {
  const files = readFileSync(usage, "utf8").trim().split("\n").map(JSON.parse)
  for (const file of files) file.path = relative(root, file.path)
  const rooms = [...groupByRoom(files)].map(([path, list]) => ({
    path,
    own: sum(list, "own"),
    programs: sum(list, "programs")
  }))
  // Programs that outlive a worker are counted by what they had used at its last file: nobody waits for them.
  const left = new Map(files.map(({ living, worker }) => [worker, living]))
  const all = usedInAll() + total([...left.values()]) - total(yards)
  const say = ({ own, path, programs }) => process.stdout.write(`${seconds(own)} ${seconds(programs)}  ${path}\n`)
  process.stdout.write("\nProcessor seconds of workers, and of the programs that they start. The dearest files:\n")
  files
    .sort(dearestFirst)
    .slice(0, Number(process.env["REINS_TEST_FILES"] ?? 40))
    .forEach(say)
  process.stdout.write("\nThe rooms:\n")
  rooms.sort(dearestFirst).forEach(say)
  const [own, programs] = [sum(rooms, "own"), sum(rooms, "programs")]
  process.stdout.write(`${seconds(own)} ${seconds(programs)}  all rooms\n`)
  process.stdout.write(`${seconds(all)} in all, with loading, PostgreSQL, and programs that outlive their test\n`)
  return all
}

/** Tells what the tests cost on the machine of the limit, and gives true when that is too much. */
const isOverLimit = (cost) => {
  const { isOver, text } = judged(cost, yards, limitOf(process.env["REINS_TEST_LIMIT"]))
  process.stdout.write(`${text}\n`)
  if (isOver) process.stdout.write("  FAIL They cost too much: move rows into the matrix, or make a flow cheaper.\n")
  return isOver
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
const cost = existsSync(usage) ? sayWhatItCost() : 0
rmSync(directory, { recursive: true })
sayWhatFailed(result.testResults)
const isDear = isWhole && isMeasured && isOverLimit(cost)
const broken = result.testResults.filter(isBroken).length
const failed = Math.max(result.numFailedTests + broken, result.success && status === 0 ? 0 : 1) + (isDear ? 1 : 0)
// Tests that the matrix leaves out are those of `npm test`.
const skipped = result.numPendingTests > 0 && !isOfMatrix ? `, ${result.numPendingTests} skipped` : ""
process.stdout.write(`${result.numPassedTests} passed, ${failed} failed${skipped}\n`)
process.exit(failed === 0 && result.numPassedTests > 0 ? 0 : 1)
