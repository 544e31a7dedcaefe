import { readFileSync } from "node:fs"
import type { Plugin } from "./Plugins.js"

/** The entry points of the core that semantic versions cover. */
const publicCore = new Set(
  Object.keys(JSON.parse(readFileSync("packages/core/package.json", "utf8")).exports).map((path) =>
    path.replace(/^\./, "@reins/core")
  )
)

/** Published code imports the rest of the core below `internal/` only. The sources of this repository name modules by their package and path. */
export const publishedName = (path: string): string => {
  const module = path.replace(/^internal\//, "")
  return publicCore.has(`@reins/core/${module}`) ? `@reins/core/${module}` : `@reins/core/internal/${module}`
}

export const publishedNames: Plugin = {
  name: "published-names",
  setup: (build) =>
    build.onResolve({ filter: /^@reins\/(?:base|machine|core)\// }, ({ path }) => ({
      path: publishedName(path.replace(/^@reins\/\w+\//, "")),
      external: true
    }))
}
