import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import type { Options } from "tsup"
import { copyDeclarations } from "./Declarations.js"
import { declared, shared } from "./Shared.js"

/** Where the type check leaves the declarations of the core. */
const coreTypes = ".cache/types/core/packages/core/src"

/** The core is published as the modules that it is written in. */
export const core: Options = {
  ...shared,
  name: "core",
  entry: ["packages/core/src/**/*.ts"],
  outDir: "packages/core/dist",
  bundle: false,
  onSuccess: async () => {
    inlineManifests()
    if (declared) copyDeclarations("core", coreTypes)
  }
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
  for (const file of ["packages/core/dist/harness/Manifests.js", "packages/core/dist/connections/ListPrices.js"]) {
    const inlined = readFileSync(file, "utf8").replace(
      /import (\w+) from "[^"]*\/manifests\/(\w+)\.json"(?: with \{ type: "json" \})?;?/g,
      (_, name: string, manifest: string) =>
        `const ${name} = ${readFileSync(`manifests/${manifest}.json`, "utf8").trim()};`
    )
    writeFileSync(file, inlined)
  }
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
