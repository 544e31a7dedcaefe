import type { Options } from "tsup"

/** Declarations are for those who write programs against the packages; running them needs none, so they are made when asked for,
 * as for what is published. */
export const declared = process.env["REINS_BUILD_DECLARATIONS"] === "1"

/** The options of every package's build. */
export const shared: Options = {
  format: "esm",
  target: "node20",
  platform: "node",
  // Published code has no maps, because the packages do not have the sources.
  sourcemap: !declared,
  clean: true,
  silent: true,
  esbuildOptions: (options) => {
    // The packages are built from each other's sources, so that their order does not matter.
    options.conditions = ["@reins/source"]
  }
}
