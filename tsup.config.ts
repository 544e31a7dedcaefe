import { execFileSync } from "node:child_process"
import { cpSync } from "node:fs"
import { defineConfig, type Options } from "tsup"

const shared: Options = {
  format: "esm",
  target: "node20",
  platform: "node",
  sourcemap: true,
  clean: true,
  tsconfig: "tsconfig.base.json",
  esbuildOptions: (options) => {
    options.conditions = ["source"]
  }
}

/** Native modules load files beside themselves, and these find others at run time: they stay what npm installed. */
const notBundled = ["better-sqlite3", "pg", "@node-rs/argon2", "nodemailer", "@parcel/watcher", "msgpackr-extract"]

/** Declarations take most of the time of a build and nothing that runs needs them: `npm run build` makes them, set-up does not. */
const declarations = process.env["REINS_BUILD_DECLARATIONS"] === "1"

/** The declarations of the core are what the compiler writes for the projects that refer to it. */
const coreDeclarations = async () => {
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-b", "packages/core"], { stdio: "inherit" })
  cpSync(".cache/types/core/packages/core/src", "packages/core/dist", { recursive: true })
}

export default defineConfig([
  {
    ...shared,
    name: "core",
    entry: ["packages/core/src/**/*.ts"],
    outDir: "packages/core/dist",
    external: [/^[^./]/],
    ...(declarations && { onSuccess: coreDeclarations })
  },
  {
    ...shared,
    name: "client",
    entry: { index: "packages/client/src/index.ts", "effect/index": "packages/client/src/effect/index.ts" },
    outDir: "packages/client/dist",
    platform: "neutral",
    external: [/^effect(?:\/|$)/, /^@effect\//, "eventsource-parser"],
    noExternal: [/^@reins\/core/],
    dts: declarations && {
      resolve: [/^@reins\/core/],
      compilerOptions: { composite: false, customConditions: ["source"] }
    }
  },
  {
    ...shared,
    name: "server",
    // One file: it starts in a third of the time that the same code takes from node_modules.
    entry: { main: "packages/server/src/main.ts" },
    outDir: "packages/server/dist",
    splitting: false,
    treeshake: true,
    noExternal: [new RegExp(`^(?!(?:${notBundled.join("|")})(?:/|$)|node:)`)],
    // What was CommonJS asks for `require`, which a module does not have.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' }
  }
])
