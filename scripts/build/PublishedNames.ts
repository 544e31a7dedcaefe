import { readFileSync } from "node:fs"
import type { Plugin } from "./Plugins.js"

/** The entry points of the core that semantic versions cover. */
const publicCore = new Set(
  Object.keys(JSON.parse(readFileSync("packages/core/package.json", "utf8")).exports).map((path) =>
    path.replace(/^\./, "@reins/core")
  )
)

/** Published code imports the rest of the core below `internal/` only. The sources of this repository name modules by their path. */
export const publishedName = (name: string): string =>
  publicCore.has(name) ? name : name.replace(/^@reins\/core\/(?!internal\/)/, "@reins/core/internal/")

export const publishedNames: Plugin = {
  name: "published-names",
  setup: (build) =>
    build.onResolve({ filter: /^@reins\/core\// }, ({ path }) => ({ path: publishedName(path), external: true }))
}
