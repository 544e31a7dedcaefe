#!/usr/bin/env node
// Runs the Effect language service over every package, in parallel: floating effects, leaking requirements, untyped errors.
import { spawn } from "node:child_process"

const packages = ["packages/core", "packages/client", "packages/server"]

/** Shows the diagnostics of a package once they are complete. Gives true when there are none. */
const isSound = (path) =>
  new Promise((done) => {
    const args = [
      "node_modules/@effect/language-service/cli.js",
      "diagnostics",
      "--project",
      `${path}/tsconfig.json`,
      "--format",
      "text",
      "--severity",
      "error,warning",
      "--strict"
    ]
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] })
    const output = []
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk))
    child.on("close", (code) => {
      process.stdout.write(`${path}\n${Buffer.concat(output)}`)
      done(code === 0)
    })
  })

const sound = await Promise.all(packages.map(isSound))
process.exit(sound.every((each) => each) ? 0 : 1)
