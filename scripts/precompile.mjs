#!/usr/bin/env node
// Runs a command of the built program and keeps what V8 has compiled by its end, for `main.js` to load in the place of compiling it:
// node scripts/precompile.mjs MAIN ENDING WORD... where MAIN is the built main.js. The command `serve` is ended once it is ready. Every function that
// it has called by then is in the compiled code. That of each chunk stands beside it, under its name with the ending, and is made once.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import vm from "node:vm"

const [main = "", ending = "", ...words] = process.argv.slice(2)
const directory = mkdtempSync(join(tmpdir(), "reins-precompile-"))
for (const name of Object.keys(process.env)) if (name.startsWith("REINS_")) delete process.env[name]
process.env.REINS_LOG_LEVEL = "error"
// No agent is run. Without it the start fails where root has no bubblewrap.
process.env.REINS_EXECUTOR = "local"
// The clients call nobody: no server is at port 9.
process.env.REINS_URL = "http://127.0.0.1:9"
process.env.REINS_API_KEY = "none"
process.env.HOME = directory
process.once("exit", () => rmSync(directory, { recursive: true, force: true }))
process.argv.splice(1, Infinity, resolve(main), ...words)
if (words[0] === "serve") process.argv.push("--port", "0", "--data-dir", directory)

const scripts = new Map()
vm.Script = class extends vm.Script {
  constructor(source, options) {
    // A chunk is read byte by byte, at half the memory of other text. The bundler escapes all but tagged templates, which keep their raw text.
    const garbled = /.{0,60}[\x80-\xff]+/.exec(source)
    if (garbled !== null) throw new Error(`A template holds a character that is not ASCII, after: ${garbled[0]}`)
    super(source, options)
    scripts.set(options.filename, this)
  }
}
syncBuiltinESMExports()

const keep = () => {
  for (const [file, script] of scripts)
    if (!existsSync(file + ending)) writeFileSync(file + ending, script.createCachedData())
}

if (words[0] !== "serve") process.once("exit", keep)
const write = process.stdout.write
process.stdout.write = function (...line) {
  if (!String(line[0]).includes('"event":"ready"')) return write.apply(this, line)
  keep()
  process.kill(process.pid, "SIGTERM")
  return true
}

await import(pathToFileURL(resolve(main)))
