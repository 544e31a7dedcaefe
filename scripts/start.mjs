#!/usr/bin/env node
// Makes a fresh clone ready and becomes the server. One process does both, in the place of the shell (`exec`) that npm starts it with, so
// that a signal to `npm start` reaches the server.
import { spawnSync } from "node:child_process"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import "./system.mjs"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const { status } = spawnSync(process.execPath, [join(root, "scripts/setup.mjs"), "--quiet"], { stdio: "inherit" })
if (status !== 0) process.exit(status ?? 1)

const main = join(root, "packages/server/dist/main.js")
process.argv = [process.execPath, main, "serve", ...process.argv.slice(2)]
await import(pathToFileURL(main).href)
