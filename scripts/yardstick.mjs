#!/usr/bin/env node
// A piece of work like that of the tests: objects that come and go, programs that start, small files. Prints its processor seconds, which tell how
// fast a processor is at this moment. `scripts/test.mjs` measures the tests by it. Machines differ more in starts of programs than in objects, so
// the parts have the shares that they have in the tests: on a usual machine objects are about two thirds.
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const directory = mkdtempSync(join(tmpdir(), "reins-yardstick-"))

const startPrograms = () => {
  spawnSync("git", ["init", "--quiet", "--template=", directory])
  for (let at = 0; at < 30; at++) spawnSync("git", ["hash-object", "-w", "--stdin"], { cwd: directory, input: `${at}` })
}

const makeObjects = () => {
  const known = new Map()
  for (let at = 0; at < 90_000; at++) {
    const event = { id: `event_${at}`, type: "turn.delta", data: { text: `word ${at}`.repeat(4), at: [at, at + 1] } }
    const read = JSON.parse(JSON.stringify(event))
    known.set(
      read.id.replace(/\d+$/, (digits) => `${Number(digits) % 5000}`),
      () => read.data
    )
  }
  return [...known.values()].reduce((total, each) => total + each().text.length, 0)
}

const writeFiles = () => {
  for (let at = 0; at < 600; at++) {
    const path = join(directory, `file-${at % 100}`)
    writeFileSync(path, "some words of a file\n".repeat(50))
    readFileSync(path)
  }
}

startPrograms()
makeObjects()
writeFiles()
rmSync(directory, { recursive: true })
const own = process.cpuUsage()
// Those of children that have ended and were waited for, in hundredths of a second.
const fields = readFileSync("/proc/self/stat", "utf8")
  .replace(/^.*\) /s, "")
  .split(" ")
process.stdout.write(
  `${((own.user + own.system) / 1e6 + (Number(fields[13]) + Number(fields[14])) / 100).toFixed(3)}\n`
)
