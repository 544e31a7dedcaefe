import { resolve } from "node:path"
import type { CodeSplittingGroup, Plugin } from "rolldown"

interface Imports {
  readonly now: ReadonlyArray<string>
  readonly later: ReadonlyArray<string>
}

/**
 * Divides the modules of a program into chunks, by what loads them: `base` is for every command, `start` for `reins serve`, and `shared` for
 * both the server and its clients. All other modules stand in chunks of the bundler's, which are loaded where they are used.
 */
export const chunksOf = (sources: string): { readonly groups: Array<CodeSplittingGroup>; readonly plugin: Plugin } => {
  const groupOf = new Map<string, string>()
  const imports = new Map<string, Imports>()
  /** The modules that are loaded with a module. */
  const loadedWith = (...names: ReadonlyArray<string>): ReadonlySet<string> => {
    const found = new Set<string>()
    const queue = [...names]
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
      if (found.has(id)) continue
      found.add(id)
      queue.push(...(imports.get(id)?.now ?? []))
    }
    return found
  }
  const divide = () => {
    const path = (name: string) => resolve(sources, name)
    const base = loadedWith(path("Program.ts"))
    const start = loadedWith(path("cli/operator/Serve.ts"))
    const clients = [resolve("packages/cli/src/Commands.ts"), path("cli/Commands.ts")]
      .flatMap((id) => imports.get(id)?.later ?? [])
      .filter((id) => id.startsWith(resolve("packages/cli/src/client")) || id.startsWith(path("cli/doors")))
      .map((id) => loadedWith(id))
    for (const id of start) groupOf.set(id, "start")
    for (const loaded of clients) for (const id of loaded) if (start.has(id)) groupOf.set(id, "shared")
    for (const id of base) groupOf.set(id, "base")
  }
  return {
    groups: [{ debugName: "by what loads it", name: (id) => groupOf.get(id) ?? null }],
    plugin: {
      name: "chunks",
      buildEnd() {
        for (const id of this.getModuleIds()) {
          const module = this.getModuleInfo(id)
          if (module !== null) imports.set(id, { now: module.importedIds, later: module.dynamicallyImportedIds })
        }
        divide()
      }
    }
  }
}
