#!/usr/bin/env node
// Checks the types and the effects of every package, and keeps what it has found out for the next time: `npm run typecheck`.
import { alone } from "./alone.mjs"
import { compiler, run } from "./tools.mjs"

const { checksEffects, command } = compiler()
if (!checksEffects)
  process.stderr.write("This checks types alone. Linux on x64, as in CI, checks the rules of Effect too.\n")
const [program, ...args] = command
// The build checks packages too, for their declarations. Both write what they found out to the same files.
alone("types", () => run(program, [...args, "-b", ...process.argv.slice(2)]))
