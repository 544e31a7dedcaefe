// Loads modules of this repository in a plain Node, which reads no TypeScript and knows no sources by the names of their packages.
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build } from "esbuild"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")

/** The sources of this repository by the names that they call each other. */
const sources = {
  name: "sources",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^@reins\/(?:base|machine|core|server)\// }, ({ path }) => ({
      path: join(root, path.replace(/^@reins\/(\w+)\//, "packages/$1/src/")).concat(".ts")
    }))
}

/** The text of a program with a module, by its path below the repository, and all that it needs of the repository. */
export const bundleOf = async (entry, tsconfig) => {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    tsconfig,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    plugins: [sources],
    write: false,
    logLevel: "error"
  })
  return outputFiles[0]?.text ?? ""
}

/** Gives what such a program exports. */
export const load = async (program) => {
  // Inside of the repository, where it finds its packages.
  const file = join(root, `.cache/loaded-${process.pid}-${Math.random().toString(36).slice(2)}.mjs`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, program)
  try {
    return await import(pathToFileURL(file).href)
  } finally {
    rmSync(file)
  }
}
