import { readdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Options } from "tsup"
import { copyDeclarations, copyFiles } from "./Declarations.js"
import { versionAlone } from "./Plugins.js"
import { publishedName, publishedNames } from "./PublishedNames.js"
import { declared, shared } from "./Shared.js"

/**
 * For programs that serve a core of their own, which bring along the core and effect, so that there is one of each. It carries the rest, as the
 * program does.
 */
export const serverLibrary: Options = {
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

/** The imports of a module of ours, also those within types. The ids of tags look like names of modules and are none. */
const imported = (names: string): RegExp => new RegExp(`(from |import\\()"@reins/${names}([\\w/]+)"`, "g")

/** The server's modules name each other and those of the core as they are published. */
const serverDeclarations = (): void => {
  copyDeclarations("server", ".cache/types/server", { to: "packages/server/lib" })
  copyFiles("packages/server/lib", "packages/server/lib", (text, file) => {
    const root = "../".repeat(file.split("/").length - 1) || "./"
    return text
      .replaceAll(imported("(?:base|machine|core)/"), (_, by: string, path: string) => `${by}"${publishedName(path)}"`)
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
