import { existsSync, readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { brotliCompressSync } from "node:zlib"
import type { Options } from "tsup"

export type Plugin = NonNullable<Options["esbuildPlugins"]>[number]

/**
 * Makes `import { Effect, Layer } from "effect"` an import of each module by its own name. Through an index a bundle holds all of every
 * module that is named, and loads at once what only a part that is loaded later uses: 7.3 MB of code in place of 2.9.
 */
export const modulesByNameOf = (changed: (source: string, path: string) => string): Plugin => ({
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

export const modulesByName = modulesByNameOf((source) => source)

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
export const withoutRandomValues: Plugin = {
  name: "without-random-values",
  setup: (build) => {
    build.onResolve({ filter: /^fast-check$/ }, () => ({ path: "fast-check", namespace: "left-out" }))
    build.onLoad({ filter: /./, namespace: "left-out" }, () => ({ contents: "module.exports = {}" }))
  }
}

/** The packages tell their version, and the rest of a package.json is not for a bundle. */
export const versionAloneOf = (versionOf: (version: string) => string): Plugin => ({
  name: "version-alone",
  setup: (build) =>
    build.onLoad({ filter: /\/packages\/(?:core|server)\/package\.json$/ }, ({ path }) => {
      const { name, version } = JSON.parse(readFileSync(path, "utf8"))
      return { loader: "json", contents: JSON.stringify({ name, version: versionOf(version) }) }
    })
})

export const versionAlone = versionAloneOf((version) => version)

/** The script of the page at `/docs` is nearly half of the program, and it is read by the few who open the page: a third of it compressed. */
export const packedReference: Plugin = {
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
export const placeOfProgram: Plugin = {
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
