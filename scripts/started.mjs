#!/usr/bin/env node
// Starts the server as people do: with `npm start`, and with the command lines of the unit and of the container in `deploy`. Each has a free port
// and a new data directory, is asked whether it is healthy, and is ended with SIGTERM. Fails unless its status is then 0, it said nothing of a crash,
// and V8 took the compiled code of each chunk of the program that it loaded.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { root } from "./suites.mjs"

const directory = mkdtempSync(join(tmpdir(), "reins-started-"))
process.once("exit", () => rmSync(directory, { recursive: true, force: true }))

/** Writes a line for each script that is compiled, with what V8 made of its compiled code. */
const witness = join(directory, "witness.cjs")
writeFileSync(
  witness,
  `const { appendFileSync } = require("node:fs")
const vm = require("node:vm")
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options)
    const line = { file: options.filename, rejected: this.cachedDataRejected ?? "none" }
    appendFileSync(process.env.STARTED_SCRIPTS, JSON.stringify(line) + "\\n")
  }
}
require("node:module").syncBuiltinESMExports()`
)

const fail = (title, text) => {
  process.stderr.write(`${title} ${text}\n`)
  process.exit(1)
}

const start = async (title, [program, ...words]) => {
  const place = mkdtempSync(join(directory, "start-"))
  const scripts = join(place, "scripts")
  const env = {
    REINS_PORT: "0",
    REINS_DATA_DIR: join(place, "data"),
    REINS_EXECUTOR: "local",
    STARTED_SCRIPTS: scripts
  }
  const child = spawn(program, words, {
    cwd: root,
    env: { ...process.env, ...env, NODE_OPTIONS: `--require=${witness}` },
    // Signals go to npm and what it has started, as those of a terminal and of systemd do.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"]
  })
  let said = ""
  child.stderr.on("data", (chunk) => {
    said += String(chunk)
  })
  const ended = once(child, "close")
  const line = await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended.then(() => null)])
  if (line === null) fail(title, `ended before it was ready.\n${said}`)
  const { url } = JSON.parse(line[0])
  const health = await fetch(new URL("/healthz", url))
  if (!health.ok) fail(title, `answered ${health.status}.`)
  await health.text()
  process.kill(-child.pid, "SIGTERM")
  const [status, signal] = await ended
  if (status !== 0) fail(title, `ended with ${status ?? signal}.\n${said}`)
  if (/abort|assert|fatal|core dumped/i.test(said)) fail(title, `told of a crash.\n${said}`)
  const chunks = readFileSync(scripts, "utf8")
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text))
    .filter(({ file }) => file.endsWith(".cjs"))
  if (!chunks.some(({ file }) => /\/start-[\w-]+\.cjs$/.test(file))) fail(title, "loaded no server.")
  const compiledAnew = chunks.filter(({ rejected }) => rejected !== false)
  if (compiledAnew.length > 0) fail(title, `compiled its source: ${JSON.stringify(compiledAnew)}`)
  process.stdout.write(
    `${title} runs, answers and ends with 0 on Node ${process.versions.node}, with its compiled code.\n`
  )
}

/** The words of a command line of `deploy`, for this Node and this repository. */
const deployed = (words) => {
  const [, ...own] = words.slice(words.findIndex((word) => /(?:^|\/)node$/.test(word)))
  return [process.execPath, ...own.map((word) => word.replace(/^\/opt\/reins\//, `${root}/`))]
}
const unit = readFileSync(join(root, "deploy/reins.service"), "utf8")
const container = readFileSync(join(root, "deploy/Dockerfile"), "utf8")
const listed = (instruction) => JSON.parse(new RegExp(`^${instruction} (\\[.*\\])$`, "m").exec(container)[1])

await start("npm start", ["npm", "start", "--silent"])
await start("The unit of systemd", deployed(/^ExecStart=(.*)$/m.exec(unit)[1].split(" ")))
await start("The container", deployed([...listed("ENTRYPOINT"), ...listed("CMD")]))
