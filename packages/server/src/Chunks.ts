import { existsSync, readFileSync } from "node:fs"
import Module, { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { Script } from "node:vm"
import { compiledFor } from "./CompiledCode.js"

/** Loads a chunk of a program and gives what it exports. A chunk is loaded once. */
type Load = (name: string) => unknown

/**
 * Loads the chunks in a folder. The compiled code of the build saves compiling them. V8 accepts only code of its own version and settings, and
 * otherwise compiles the source.
 */
export const loaderOf = (directory: string): Load => {
  const require = createRequire(directory)
  // Node reads source maps for modules only.
  if (process.sourceMapsEnabled) return require
  const loaded = new Map<string, { readonly exports: unknown }>()
  const load: Load = (name) => {
    const file = join(directory, name)
    const found = loaded.get(file)
    if (found !== undefined) return found.exports
    const module = { exports: {} }
    loaded.set(file, module)
    functionOf(file)(module.exports, requireInChunk, module, file, dirname(file))
    return module.exports
  }
  const requireInChunk = Object.assign((name: string) => (name.startsWith("./") ? load(name) : require(name)), {
    resolve: require.resolve
  })
  return load
}

/** A chunk as the function that Node makes of a module in CommonJS. */
const functionOf = (file: string) => {
  const compiled = compiledFor(file, process.execArgv)
  return new Script(Module.wrap(readFileSync(file, "latin1")), {
    filename: file,
    ...(existsSync(compiled) && { cachedData: readFileSync(compiled) })
  }).runInThisContext()
}
