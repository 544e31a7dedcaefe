#!/usr/bin/env node
// Checks the types and the effects of every package, and keeps what it has found out for the next time: `npm run typecheck`.
import { compiler, run } from "./tools.mjs"

const [command, ...args] = compiler()
if (command === process.execPath)
  process.stderr.write("The rules of Effect are checked on Linux on x64 only, as in CI.\n")
run(command, [...args, "-b", ...process.argv.slice(2)])
