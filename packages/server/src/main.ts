#!/usr/bin/env node
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { Script } from "node:vm"
import { hostRefusal } from "@reins/core/base/HostRefusal"

/** The build puts the name of the bundled program here. It holds a hash, so that compiled code of another build is never taken for its own. */
declare const PROGRAM_FILE: string

const refusal = hostRefusal(process.platform, process.versions.node)
if (refusal !== null) {
  process.stderr.write(`${refusal}\n`)
  process.exit(1)
}

const file = fileURLToPath(new URL(PROGRAM_FILE, import.meta.url))
const require = createRequire(file)

/** The bundled `Program.ts` as one function, which gets the way to load the code outside of the bundle. */
type Program = (require: NodeJS.Require) => void

/**
 * The compiled code of the build, which saves compiling at the start. V8 accepts only code of its own version and settings, and otherwise
 * compiles the source.
 */
const fromCompiled = (): Program =>
  new Script(readFileSync(file, "latin1"), {
    filename: file,
    ...(existsSync(`${file}.compiled`) && { cachedData: readFileSync(`${file}.compiled`) })
  }).runInThisContext()

// Node reads source maps for modules only.
const program: Program = process.sourceMapsEnabled ? require(file) : fromCompiled()
program(require)
