import { existsSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { brotliCompressSync } from "node:zlib"
import type { Plugin } from "rolldown"
import { ofVersion, versionFile } from "./PackageVersion.js"

/** A plugin that gives some files another content. `filter` is over the absolute path of a file. */
const contents = (
  name: string,
  filter: RegExp,
  contentOf: (path: string) => string | Promise<string>,
  moduleType: "js" | "json" | "ts"
): Plugin => ({
  name,
  load: { filter: { id: filter }, handler: async (path) => ({ code: await contentOf(path), moduleType }) }
})

/** A plugin that imports the file at `path` in the place of another one. `filter` is over the words of an import. */
export const replaced = (name: string, filter: RegExp, path: string): Plugin => ({
  name,
  resolveId: {
    filter: { id: filter },
    handler: (_, importer) => (importer === resolve(path) ? null : resolve(path))
  }
})

/**
 * Makes `import { Effect, Layer } from "effect"` an import of each module by its own name. Through an index, every command would load all modules
 * that the index names.
 */
export const modulesByNameOf = (changed: (source: string, path: string) => string): Plugin =>
  contents(
    "modules-by-name",
    /\/packages\/(?:base|machine|core|client|cli|server)\/src\/.*\.ts$/,
    (path) =>
      changed(readFileSync(path, "utf8"), path).replace(
        /^import \{([^}]*)\} from "(effect|@effect\/[\w-]+)"/gm,
        (statement, names: string, name: string) => importsOf(names, name) + statement.replace(/[^\n]/g, "")
      ),
    "ts"
  )

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
  resolveId: { filter: { id: /^fast-check$/ }, handler: () => "\0fast-check" },
  load: { filter: { id: /^\0fast-check$/ }, handler: () => "module.exports = {}" }
}

export const versionAloneOf = (versionOf?: (version: string) => string): Plugin =>
  contents("version-alone", versionFile, (path) => ofVersion(path, versionOf), "json")

export const versionAlone = versionAloneOf()

/** The script of the page at `/docs` has 3 MB: a third of it compressed. */
export const packedReference: Plugin = contents(
  "packed-reference",
  /\/@effect\/platform\/dist\/esm\/internal\/httpApiScalar\.js$/,
  async (path) => {
    const { javascript } = await import(pathToFileURL(path).href)
    const packed = brotliCompressSync(javascript).toString("base64")
    return (
      'import { brotliDecompressSync } from "node:zlib"\n' +
      `export const javascript = brotliDecompressSync(Buffer.from("${packed}", "base64")).toString()`
    )
  },
  "js"
)
