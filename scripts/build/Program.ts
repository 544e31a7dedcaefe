import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import { Effect } from "effect"
import { transform } from "esbuild"
import { type OutputChunk, type Plugin, rolldown } from "rolldown"
import type { Options } from "tsup"
import type * as EmptyDatabase from "../../packages/core/src/store/EmptyDatabase.js"
import { compiledFor, deployedFlags } from "../../packages/server/src/CompiledCode.js"
import { bundleOf, load } from "../bundled.mjs"
import { chunksOf } from "./Chunks.js"
import { modulesByName, packedReference, versionAlone, withoutRandomValues } from "./ProgramPlugins.js"
import { declared, shared } from "./Shared.js"

/** Packages with native code, and those that only some installations have, stay outside of a program. */
const native = ["pg", "pg-native", "@node-rs/argon2", "@parcel/watcher", "bufferutil", "utf-8-validate"]

const serverDist = "packages/server/dist"

const serverPlugins = [packedReference, modulesByName, versionAlone, withoutRandomValues]

/** The server and its commands. */
export const program = async (): Promise<Options> => {
  const options = await buildProgram(serverDist, serverPlugins)
  await writeEmptyDatabase(serverDist)
  return options
}

/** Writes the database that a program copies for a new installation, which saves it the statements of the schema. */
export const writeEmptyDatabase = async (dist: string): Promise<void> => {
  const { makeEmptyDatabase } = (await load(
    await bundleOf("packages/core/src/store/EmptyDatabase.ts", "packages/core/tsconfig.json")
  )) as Pick<typeof EmptyDatabase, "makeEmptyDatabase">
  await Effect.runPromise(Effect.scoped(makeEmptyDatabase(`${dist}/empty.db`)))
}

/** The version of the server in this repository. */
export const release: string = JSON.parse(readFileSync("packages/server/package.json", "utf8")).version

/**
 * Writes a program into a folder, in chunks that are loaded at their use, and gives the options for `main.js`, which loads them. The chunks are
 * scripts, because V8 keeps compiled code for scripts, and on Node 20 for no modules.
 */
export const buildProgram = async (
  dist: string,
  plugins: ReadonlyArray<Plugin>,
  version = release
): Promise<Options> => {
  const { groups, plugin } = chunksOf("packages/server/src")
  const bundle = await rolldown({
    input: { program: "packages/server/src/Program.ts" },
    platform: "node",
    external: (name) => native.includes(name) || name.startsWith("node:"),
    resolve: { conditionNames: ["@reins/source", "node", "import", "module", "default"] },
    plugins: [...plugins, plugin],
    // Rooms import some modules where they use them, and others import the same modules at once.
    checks: { ineffectiveDynamicImport: false, eval: false },
    transform: { target: "node20" }
  })
  rmSync(dist, { recursive: true, force: true })
  const { output } = await bundle.generate({
    dir: dist,
    format: "cjs",
    esModule: false,
    // A script has no `import()`.
    dynamicImportInCjs: false,
    entryFileNames: "[name]-[hash].cjs",
    chunkFileNames: "[name]-[hash].cjs",
    sourcemap: declared ? false : "hidden",
    minify: false,
    codeSplitting: { groups }
  })
  mkdirSync(dist)
  const chunks = output.filter((file) => file.type === "chunk")
  for (const chunk of chunks) await writeChunk(`${dist}/${chunk.fileName}`, chunk)
  const modules = chunks.map(({ fileName, modules }) => [
    fileName,
    Object.entries(modules).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [nameOf(id)] : []))
  ])
  writeFileSync(`${dist}/modules.json`, JSON.stringify(Object.fromEntries(modules)))
  const entry = chunks.find(({ isEntry }) => isEntry)
  return {
    ...shared,
    name: `loader of ${dist}`,
    entry: { main: "packages/server/src/main.ts" },
    outDir: dist,
    clean: false,
    define: { PROGRAM_FILE: JSON.stringify(`./${entry?.fileName}`), RELEASE: JSON.stringify(version) },
    onSuccess: async () => compile(dist)
  }
}

/**
 * Writes a chunk with less to read at each start. Names stay, so that a stack trace without source map still tells them. The text is ASCII, because
 * Node keeps other text at two bytes a character.
 */
const writeChunk = async (file: string, { code, map }: Pick<OutputChunk, "code" | "map">): Promise<void> => {
  const made = map === null ? "" : `\n//# sourceMappingURL=${map.toUrl()}`
  const smaller = await transform(code + made, {
    sourcefile: basename(file),
    sourcemap: map === null ? false : "external",
    target: "node20",
    charset: "ascii",
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 160
  })
  if (map === null) return writeFileSync(file, smaller.code)
  writeFileSync(`${file}.map`, smaller.map)
  writeFileSync(file, `${smaller.code}//# sourceMappingURL=${basename(file)}.map\n`)
}

/** The path of a module below the repository. */
const nameOf = (id: string): string => id.replace(`${process.cwd()}/`, "")

/** The first request of the protocols of editors and of assistants. */
const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: 1, clientCapabilities: {}, capabilities: {}, clientInfo: { name: "build", version: "1" } }
})

/** Keeps what V8 compiles for a start of the server, as it is typed and as `deploy` starts it, and for the commands that are typed most. */
const compile = (dist: string): void => {
  const precompile = (flags: ReadonlyArray<string>, ...words: ReadonlyArray<string>) => {
    const args = [...flags, "scripts/precompile.mjs", `${dist}/main.js`, compiledFor("", flags), ...words]
    const { error, status, stderr } = spawnSync(process.execPath, args, { input: `${initialize}\n`, encoding: "utf8" })
    // Without a server, commands that need one fail, and their code has been compiled.
    if (error !== undefined || (words[0] === "serve" && status !== 0)) throw error ?? new Error(stderr)
  }
  precompile([], "serve")
  precompile(deployedFlags, "serve")
  for (const words of [["help"], ["run", "a task"], ["acp"], ["mcp"]]) precompile([], ...words)
}
