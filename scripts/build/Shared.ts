import type { Options } from "tsup"

/** Declarations are for those who write programs against the packages; running them needs none, so they are made when asked for,
 * as for what is published. */
export const declared = process.env["REINS_BUILD_DECLARATIONS"] === "1"

/** What all packages are built with. */
export const shared: Options = {
  format: "esm",
  target: "node20",
  platform: "node",
  // What is published has no maps: the sources that they tell of are not in the packages.
  sourcemap: !declared,
  clean: true,
  silent: true,
  esbuildOptions: (options) => {
    // The packages are built from each other's sources, so that their order does not matter.
    options.conditions = ["@reins/source"]
  }
}
