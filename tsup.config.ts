import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { brotliCompressSync } from "node:zlib"
import { buildSync } from "esbuild"
import { defineConfig, type Options } from "tsup"
import generateClient from "./scripts/client.mjs"

type Plugin = NonNullable<Options["esbuildPlugins"]>[number]

/** Declarations are for those who write programs against the packages; running them needs none, so they are made when asked for,
 * as for what is published. */
const declared = process.env["REINS_BUILD_DECLARATIONS"] === "1"

const shared: Options = {
  format: "esm",
  target: "node20",
  platform: "node",
  // What is published has no maps: the sources that they tell of are not in the packages.
  sourcemap: !declared,
  clean: true,
  silent: true,
  esbuildOptions: (options) => {
    // The packages are built from each other's sources, so that their order does not matter.
    options.conditions = ["@reins/source"]
  }
}

/** Where the type check leaves the declarations of the core. */
const coreTypes = ".cache/types/core/packages/core/src"

const serverDist = "packages/server/dist"
const breakableDist = "packages/server/dist-failpoints"
const nextDist = "packages/server/dist-next"

/** What holds native code, or is loaded only where it is installed, stays outside of a bundle. */
const native = ["pg", "pg-native", "@node-rs/argon2", "@parcel/watcher", "bufferutil", "utf-8-validate"]

/**
 * Makes `import { Effect, Layer } from "effect"` an import of each module by its own name. Through an index a bundle holds all of every
 * module that is named, and loads at once what only a part that is loaded later uses: 7.3 MB of code in place of 2.9.
 */
const modulesByNameOf = (changed: (source: string, path: string) => string): Plugin => ({
  name: "modules-by-name",
  setup: (build) =>
    build.onLoad({ filter: /\/packages\/(?:core|client|server)\/src\/.*\.ts$/ }, ({ path }) => ({
      loader: "ts",
      contents: changed(readFileSync(path, "utf8"), path).replace(
        /^import \{([^}]*)\} from "(effect|@effect\/[\w-]+)"/gm,
        (statement, names: string, name: string) => importsOf(names, name) + statement.replace(/[^\n]/g, "")
      )
    }))
})

const modulesByName = modulesByNameOf((source) => source)

/** On one line, so that the lines of a file keep their numbers in the source map. */
const importsOf = (names: string, from: string): string =>
  names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && !name.startsWith("type "))
    .map((name) =>
      existsSync(`node_modules/${from}/dist/esm/${name}.js`)
        ? `import * as ${name} from "${from}/${name}"`
        : `import { ${name} } from "${from}"`
    )
    .join("; ")

/** Schemas can make random values by fast-check, which they load at once. No server makes any. */
const withoutRandomValues: Plugin = {
  name: "without-random-values",
  setup: (build) => {
    build.onResolve({ filter: /^fast-check$/ }, () => ({ path: "fast-check", namespace: "left-out" }))
    build.onLoad({ filter: /./, namespace: "left-out" }, () => ({ contents: "module.exports = {}" }))
  }
}

/** The packages tell their version, and the rest of a package.json is not for a bundle. */
const versionAloneOf = (versionOf: (version: string) => string): Plugin => ({
  name: "version-alone",
  setup: (build) =>
    build.onLoad({ filter: /\/packages\/(?:core|server)\/package\.json$/ }, ({ path }) => {
      const { name, version } = JSON.parse(readFileSync(path, "utf8"))
      return { loader: "json", contents: JSON.stringify({ name, version: versionOf(version) }) }
    })
})

const versionAlone = versionAloneOf((version) => version)

/** The script of the page at `/docs` is nearly half of the program, and it is read by the few who open the page: a third of it compressed. */
const packedReference: Plugin = {
  name: "packed-reference",
  setup: (build) =>
    build.onLoad({ filter: /\/@effect\/platform\/dist\/esm\/internal\/httpApiScalar\.js$/ }, async ({ path }) => {
      const { javascript } = await import(pathToFileURL(path).href)
      const packed = brotliCompressSync(javascript).toString("base64")
      return {
        contents:
          'import { brotliDecompressSync } from "node:zlib"\n' +
          `export const javascript = brotliDecompressSync(Buffer.from("${packed}", "base64")).toString()`
      }
    })
}

/** The program is no module, so it finds the files of the console and the driver of SQLite by the `require` that it is given. */
const placeOfProgram: Plugin = {
  name: "place-of-program",
  setup: (build) =>
    build.onLoad({ filter: /\/(?:ConsoleDirectory|SqliteDriver)\.ts$/ }, ({ path }) => ({
      loader: "ts",
      // The first folder in which it looks for packages stands beside the program.
      contents: readFileSync(path, "utf8").replace(
        "import.meta.url",
        'require("node:url").pathToFileURL((require.resolve.paths("@reins/server") ?? [""])[0] ?? "")'
      )
    }))
}

/**
 * The program is one file and a function: V8 keeps compiled code for scripts, and on Node 20 for no modules. Each module of the source that
 * is imported where it is used still runs at its first import.
 */
const server: Options = {
  ...shared,
  name: "server",
  entry: { program: "packages/server/src/Program.ts" },
  outDir: serverDist,
  format: "cjs",
  splitting: false,
  esbuildPlugins: [packedReference, placeOfProgram, modulesByName, versionAlone, withoutRandomValues],
  esbuildOptions: (options, context) => {
    shared.esbuildOptions?.(options, context)
    options.entryNames = "[name]-[hash]"
    // What stays outside is loaded by the `require` that the function is given.
    options.supported = { "dynamic-import": false }
    // Less to read at each start. Names and lines are left, so that a stack trace without the source map still says where it was.
    options.minifyWhitespace = true
    options.minifySyntax = true
    options.lineLimit = 160
    // Read as bytes, which V8 takes as they are.
    options.charset = "ascii"
  },
  external: native,
  noExternal: [new RegExp(`^(?!(?:${native.join("|")})(?:$|/)|node:)`)],
  // The value of the script, and the export of the module that it is with source maps.
  banner: { js: '(typeof module==="object"?module:{}).exports=require=>{"use strict";' },
  footer: { js: "}" },
  onSuccess: async () => finishServer(serverDist)
}

/** The entry points of the core that semantic versions cover. */
const publicCore = new Set(
  Object.keys(JSON.parse(readFileSync("packages/core/package.json", "utf8")).exports).map((path) =>
    path.replace(/^\./, "@reins/core")
  )
)

/** What is published may import the rest of the core below `internal/` only; the sources of this repository name modules by their path. */
const publishedName = (name: string): string =>
  publicCore.has(name) ? name : name.replace(/^@reins\/core\/(?!internal\/)/, "@reins/core/internal/")

const publishedNames: Plugin = {
  name: "published-names",
  setup: (build) =>
    build.onResolve({ filter: /^@reins\/core\// }, ({ path }) => ({ path: publishedName(path), external: true }))
}

/**
 * For programs that serve a core of their own, which bring along the core and effect, so that there is one of each. It carries the rest, as the
 * program does.
 */
const serverLibrary: Options = {
  ...shared,
  name: "server library",
  entry: { index: "packages/server/src/index.ts" },
  outDir: "packages/server/lib",
  splitting: true,
  esbuildPlugins: [publishedNames, versionAlone],
  external: [/^(?:effect|@effect\/[\w-]+)(?:\/|$)/],
  esbuildOptions: (options, context) => {
    shared.esbuildOptions?.(options, context)
    options.minifyWhitespace = true
    options.lineLimit = 160
  },
  // For what it carries that is no module, and asks for parts of Node.
  banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  onSuccess: async () => {
    if (declared) serverDeclarations()
  }
}

const packages: ReadonlyArray<Options> = [
  {
    ...shared,
    name: "core",
    entry: ["packages/core/src/**/*.ts"],
    outDir: "packages/core/dist",
    bundle: false,
    onSuccess: async () => {
      inlineManifests()
      if (declared) copyDeclarations("core", coreTypes)
    }
  },
  {
    ...shared,
    name: "client",
    entry: { index: "packages/client/src/index.ts", "effect/index": "packages/client/src/effect/index.ts" },
    outDir: "packages/client/dist",
    // Programs in CommonJS, such as tests in Jest, cannot load modules.
    format: ["esm", "cjs"],
    splitting: true,
    platform: "neutral",
    external: ["effect"],
    onSuccess: async () => {
      if (declared) copyDeclarations("client", ".cache/types/client")
      if (declared) declareForCommonJs("packages/client/dist")
    }
  },
  server,
  serverLibrary
]

/** The server of the crash suite, which can be killed at named points and given another agent for alpha. It is never published. */
const breakableServer: Options = {
  ...server,
  outDir: breakableDist,
  onSuccess: async () => finishServer(breakableDist),
  esbuildPlugins: [
    placeOfProgram,
    modulesByName,
    versionAlone,
    {
      name: "failpoints",
      setup: (build) =>
        build.onResolve({ filter: /\/Failpoint\.js$/ }, () => ({
          path: resolve("packages/server/chaos/kills/Failpoint.ts")
        }))
    },
    {
      name: "scripted agent",
      setup: (build) => {
        const path = resolve("packages/server/chaos/agent/AlphaManifest.ts")
        build.onResolve({ filter: /\/manifests\/alpha\.json$/ }, ({ importer }) =>
          importer === path ? null : { path }
        )
        // It is imported as JSON.
        build.onLoad({ filter: /\/AlphaManifest\.ts$/ }, () => ({ contents: readFileSync(path, "utf8"), loader: "ts" }))
      }
    }
  ]
}

/** The release after this one, for tests of two releases beside each other: it adds to the schema, and writes what it has added. It is never published. */
const nextServer: Options = {
  ...server,
  outDir: nextDist,
  onSuccess: async () => finishServer(nextDist),
  esbuildPlugins: [
    packedReference,
    placeOfProgram,
    modulesByNameOf((source, path) => {
      if (!path.endsWith("/messages/MessageStore.ts")) return source
      const written = source.replace("insertRow({", 'insertRow({ written_by: "next",')
      if (written === source) throw new Error("the next release finds no place to write what it has added")
      return written
    }),
    versionAloneOf((version) =>
      version.replace(/^(\d+)\.(\d+)\..*$/, (_, major, minor) => `${major}.${Number(minor) + 1}.0`)
    ),
    withoutRandomValues,
    {
      name: "next-steps",
      setup: (build) => {
        const path = resolve("packages/server/cluster/NextSteps.ts")
        build.onResolve({ filter: /\/Steps\.js$/ }, () => ({ path }))
      }
    }
  ]
}

export default defineConfig(async () => {
  await generateClient()
  if (process.env["REINS_BUILD_FAILPOINTS"] === "1") return breakableServer
  return process.env["REINS_BUILD_NEXT"] === "1" ? nextServer : [...packages]
})

/** Compiles the program, and makes what loads it. */
const finishServer = (dist: string): void => {
  const program = readdirSync(dist).find((name) => /^program-\w+\.cjs$/.test(name))
  execFileSync(process.execPath, ["scripts/precompile.mjs", `${dist}/${program}`], { stdio: "inherit" })
  buildSync({
    entryPoints: ["packages/server/src/main.ts"],
    outfile: `${dist}/main.js`,
    bundle: true,
    platform: "node",
    conditions: ["@reins/source"],
    format: "esm",
    target: "node20",
    define: { PROGRAM_FILE: JSON.stringify(`./${program}`) }
  })
}

/** Node 20 warns at each import of JSON, and a published package does not have the repository's folders around it. */
const inlineManifests = (): void => {
  const { version } = JSON.parse(readFileSync("packages/core/package.json", "utf8"))
  const told = "packages/core/dist/base/Release.js"
  writeFileSync(
    told,
    readFileSync(told, "utf8").replace(
      /import (\w+) from "[^"]*package\.json"(?: with \{ type: "json" \})?;?/,
      (_, name: string) => `const ${name} = ${JSON.stringify({ version })};`
    )
  )
  const file = "packages/core/dist/harness/Manifests.js"
  const inlined = readFileSync(file, "utf8").replace(
    /import (\w+) from "[^"]*\/manifests\/(\w+)\.json"(?: with \{ type: "json" \})?;?/g,
    (_, name: string, manifest: string) =>
      `const ${name} = ${readFileSync(`manifests/${manifest}.json`, "utf8").trim()};`
  )
  writeFileSync(file, inlined)
  const optional = "packages/core/dist/harness/OptionalManifests.js"
  const read = readFileSync(optional, "utf8").replace(
    /import\("[^"]*\/manifests\/(optional\/[\w-]+\.json)"(?:, \{ with: \{ type: "json" \} \})?\)/g,
    (_, path: string) =>
      `import("node:fs").then(({ readFileSync }) => ({ default: JSON.parse(readFileSync(new URL("../../manifests/${path}", import.meta.url), "utf8")) }))`
  )
  writeFileSync(optional, read)
  rmSync("packages/core/manifests", { recursive: true, force: true })
  cpSync("manifests", "packages/core/manifests", { recursive: true })
}

/** The imports of a module of ours, also those within types. The ids of tags look like names of modules and are none. */
const imported = (names: string): RegExp => new RegExp(`(from |import\\()"@reins/${names}([\\w/]+)"`, "g")

/** The server's modules name each other and those of the core as they are published. */
const serverDeclarations = (): void => {
  copyDeclarations("server", ".cache/types/server", "lib")
  copyFiles("packages/server/lib", "packages/server/lib", (text, file) => {
    const root = "../".repeat(file.split("/").length - 1) || "./"
    return text
      .replaceAll(imported("core/"), (_, by: string, path: string) => `${by}"${publishedName(`@reins/core/${path}`)}"`)
      .replaceAll(imported("server/"), (_, by: string, path: string) => `${by}"${root}${path}.js"`)
  })
  removeUnreached("packages/server/lib", "index.d.ts")
}

/** The modules of the program have declarations too, and nobody can import those. */
const removeUnreached = (directory: string, entry: string): void => {
  const reached = new Set<string>()
  const reach = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    const text = readFileSync(join(directory, file), "utf8")
    for (const [, name = ""] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g))
      reach(join(dirname(file), `${name}.d.ts`))
  }
  reach(entry)
  for (const file of readdirSync(directory, { recursive: true, encoding: "utf8" }))
    if (file.endsWith(".d.ts") && !reached.has(file)) rmSync(join(directory, file))
}

/** The declarations come from the type check, which is incremental; bundling those of a hundred modules is not. */
const copyDeclarations = (name: string, from: string, to = "dist"): void => {
  execFileSync(process.execPath, ["scripts/typecheck.mjs", `packages/${name}`], { stdio: "inherit" })
  // Those of modules that are gone stay where the type check has left them.
  const exists = (file: string): boolean => existsSync(join(`packages/${name}/src`, file.replace(/\.d\.ts$/, ".ts")))
  copyFiles(from, `packages/${name}/${to}`, (text) => text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"), exists)
}

/** The same declarations for those who `require`. A compiler tells the kind of a module by the ending of its declarations. */
const declareForCommonJs = (directory: string): void => {
  for (const file of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".d.ts")) continue
    const text = readFileSync(join(directory, file), "utf8")
    const named = text.replace(/((?:from |import\()"\.[^"]*)\.js"/g, '$1.cjs"')
    writeFileSync(join(directory, file.replace(/\.d\.ts$/, ".d.cts")), named)
  }
}

const copyFiles = (
  from: string,
  to: string,
  change = (text: string, _file: string): string => text,
  which = (_file: string): boolean => true
): void => {
  for (const file of readdirSync(from, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".d.ts") || !which(file)) continue
    mkdirSync(dirname(join(to, file)), { recursive: true })
    writeFileSync(join(to, file), change(readFileSync(join(from, file), "utf8"), file))
  }
}
