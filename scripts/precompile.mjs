#!/usr/bin/env node
// Runs the bundled server until it is ready and keeps what V8 has compiled by then, for `main.js` to load in the place of compiling it:
// node scripts/precompile.mjs FILE, where FILE is the bundled program. Every function that a start has called is in it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { Script } from "node:vm"

const file = resolve(process.argv[2])
const dataDir = mkdtempSync(join(tmpdir(), "reins-precompile-"))
process.once("exit", () => rmSync(dataDir, { recursive: true, force: true }))
for (const name of Object.keys(process.env)) if (name.startsWith("REINS_")) delete process.env[name]
process.env.REINS_LOG_LEVEL = "error"
// No agent is run. Without it the start fails where root has no bubblewrap.
process.env.REINS_EXECUTOR = "local"
process.argv.splice(1, Infinity, file, "serve", "--port", "0", "--data-dir", dataDir)

const source = readFileSync(file, "latin1")
// The bundle is read byte by byte, at half the memory of other text. The bundler escapes all but tagged templates, which keep their raw text.
const garbled = /.{0,60}[\x80-\xff]+/.exec(source)
if (garbled !== null)
  throw new Error(`A template of the server holds a character that is not ASCII, after: ${garbled[0]}`)

const script = new Script(source, { filename: file })

const write = process.stdout.write
process.stdout.write = function (...line) {
  if (!String(line[0]).includes('"event":"ready"')) return write.apply(this, line)
  writeFileSync(`${file}.compiled`, script.createCachedData())
  process.kill(process.pid, "SIGTERM")
  return true
}

script.runInThisContext()(createRequire(file))
