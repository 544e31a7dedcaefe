import { execFileSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { buildSync } from "esbuild"
import type { Options } from "tsup"
import { modulesByName, packedReference, placeOfProgram, versionAlone, withoutRandomValues } from "./Plugins.js"
import { shared } from "./Shared.js"

/** Packages with native code, and those that only some installations have, stay outside of a bundle. */
const native = ["pg", "pg-native", "@node-rs/argon2", "@parcel/watcher", "bufferutil", "utf-8-validate"]

const serverDist = "packages/server/dist"

/**
 * The program is one file and a function: V8 keeps compiled code for scripts, and on Node 20 for no modules. Each module of the source that
 * is imported where it is used still runs at its first import.
 */
export const program: Options = {
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
    // The function loads the packages outside by the `require` that it is given.
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

/** Compiles the program, and makes what loads it. */
export const finishServer = (dist: string): void => {
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
