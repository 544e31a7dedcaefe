import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import type { Options } from "tsup"
import { copyDeclarations } from "./Declarations.js"
import { declared, shared } from "./Shared.js"

/** The packages whose modules are published as those of the core. No two have a room of one name. */
const packages = ["base", "machine", "core"] as const

const dist = "packages/core/dist"

const modulesOf = (name: string): ReadonlyArray<readonly [string, string]> =>
  readdirSync(`packages/${name}/src`, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => [file.replace(/\.ts$/, ""), `packages/${name}/src/${file}`])

/** The core is published as the modules that it is written in, with those of the packages that it stands on. */
export const core: Options = {
  ...shared,
  name: "core",
  entry: Object.fromEntries(packages.flatMap(modulesOf)),
  outDir: dist,
  bundle: false,
  onSuccess: async () => {
    inlineManifests()
    for (const file of readdirSync(dist, { recursive: true, encoding: "utf8" }))
      if (file.endsWith(".js")) {
        const text = readFileSync(join(dist, file), "utf8")
        const named = withinOne(text, file)
        if (named !== text) writeFileSync(join(dist, file), named)
      }
    if (declared)
      for (const name of packages)
        copyDeclarations(name, `.cache/types/${name}/packages/${name}/src`, { to: dist, change: withinOne })
  }
}

/** The modules of a published core name each other by their places. */
const withinOne = (text: string, file: string): string =>
  text.replace(
    /((?:\bfrom |\bimport |\bimport\(|\bdeclare module )")@reins\/(?:base|machine)\/([\w/]+)"/g,
    (_, by: string, path: string) => {
      const place = relative(dirname(file), path)
      return `${by}${place.startsWith(".") ? place : `./${place}`}.js"`
    }
  )

/** Node 20 warns at each import of JSON, and a published package does not have the repository's folders around it. */
const inlineManifests = (): void => {
  const { version } = JSON.parse(readFileSync("packages/core/package.json", "utf8"))
  const told = `${dist}/base/Release.js`
  writeFileSync(
    told,
    readFileSync(told, "utf8").replace(
      /import (\w+) from "[^"]*package\.json"(?: with \{ type: "json" \})?;?/,
      (_, name: string) => `const ${name} = ${JSON.stringify({ version })};`
    )
  )
  for (const file of [`${dist}/harness/Manifests.js`, `${dist}/connections/ListPrices.js`]) {
    const inlined = readFileSync(file, "utf8").replace(
      /import (\w+) from "[^"]*\/manifests\/(\w+)\.json"(?: with \{ type: "json" \})?;?/g,
      (_, name: string, manifest: string) =>
        `const ${name} = ${readFileSync(`manifests/${manifest}.json`, "utf8").trim()};`
    )
    writeFileSync(file, inlined)
  }
  const optional = `${dist}/harness/OptionalManifests.js`
  const read = readFileSync(optional, "utf8").replace(
    /import\("[^"]*\/manifests\/(optional\/[\w-]+\.json)"(?:, \{ with: \{ type: "json" \} \})?\)/g,
    (_, path: string) =>
      `import("node:fs").then(({ readFileSync }) => ({ default: JSON.parse(readFileSync(new URL("../../manifests/${path}", import.meta.url), "utf8")) }))`
  )
  writeFileSync(optional, read)
  rmSync("packages/core/manifests", { recursive: true, force: true })
  cpSync("manifests", "packages/core/manifests", { recursive: true })
}
