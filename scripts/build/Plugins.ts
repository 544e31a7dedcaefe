import type { Options } from "tsup"
import { ofVersion, versionFile } from "./PackageVersion.js"

export type Plugin = NonNullable<Options["esbuildPlugins"]>[number]

export const versionAlone: Plugin = {
  name: "version-alone",
  setup: (build) => build.onLoad({ filter: versionFile }, ({ path }) => ({ loader: "json", contents: ofVersion(path) }))
}
