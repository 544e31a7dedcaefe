#!/usr/bin/env node
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { Script } from "node:vm"

/** The build puts the name of the bundled program here. It holds a hash, so that compiled code of another build is never taken for its own. */
declare const PROGRAM_FILE: string

const file = fileURLToPath(new URL(PROGRAM_FILE, import.meta.url))
const require = createRequire(file)

/** `Program.ts` with everything that it needs in one function, which is given the way to what stays outside of the bundle. */
type Program = (require: NodeJS.Require) => void

/**
 * The code that the build has compiled, so that a start need not. V8 takes only what the same version of it has made with the same
 * settings, and compiles the source otherwise.
 */
const fromCompiled = (): Program =>
  new Script(readFileSync(file, "latin1"), {
    filename: file,
    ...(existsSync(`${file}.compiled`) && { cachedData: readFileSync(`${file}.compiled`) })
  }).runInThisContext()

// Node reads source maps of modules alone.
const program: Program = process.sourceMapsEnabled ? require(file) : fromCompiled()
program(require)
