import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import type { Options } from "tsup"
import {
  modulesByName,
  modulesByNameOf,
  packedReference,
  placeOfProgram,
  versionAlone,
  versionAloneOf,
  withoutRandomValues
} from "./Plugins.js"
import { finishServer, program } from "./Program.js"

const breakableDist = "packages/server/dist-failpoints"
const nextDist = "packages/server/dist-next"

/** The server of the crash suite, which can be killed at named points and given another agent for alpha. It is never published. */
export const breakableServer: Options = {
  ...program,
  outDir: breakableDist,
  onSuccess: async () => finishServer(breakableDist),
  esbuildPlugins: [
    placeOfProgram,
    modulesByName,
    versionAlone,
    {
      name: "failpoints",
      setup: (build) =>
        build.onResolve({ filter: /\/Failpoint\.js$/ }, () => ({
          path: resolve("packages/server/chaos/kills/Failpoint.ts")
        }))
    },
    {
      name: "scripted agent",
      setup: (build) => {
        const path = resolve("packages/server/chaos/agent/AlphaManifest.ts")
        build.onResolve({ filter: /\/manifests\/alpha\.json$/ }, ({ importer }) =>
          importer === path ? null : { path }
        )
        // It is imported as JSON.
        build.onLoad({ filter: /\/AlphaManifest\.ts$/ }, () => ({ contents: readFileSync(path, "utf8"), loader: "ts" }))
      }
    }
  ]
}

/** The release after this one, for tests of two releases beside each other: it adds to the schema, and writes what it has added. It is never published. */
export const nextServer: Options = {
  ...program,
  outDir: nextDist,
  onSuccess: async () => finishServer(nextDist),
  esbuildPlugins: [
    packedReference,
    placeOfProgram,
    modulesByNameOf((source, path) => {
      if (!path.endsWith("/messages/MessageStore.ts")) return source
      const written = source.replace("insertRow({", 'insertRow({ written_by: "next",')
      if (written === source) throw new Error("the next release finds no place to write what it has added")
      return written
    }),
    versionAloneOf((version) =>
      version.replace(/^(\d+)\.(\d+)\..*$/, (_, major, minor) => `${major}.${Number(minor) + 1}.0`)
    ),
    withoutRandomValues,
    {
      name: "next-steps",
      setup: (build) => {
        const path = resolve("packages/server/cluster/NextSteps.ts")
        build.onResolve({ filter: /\/Steps\.js$/ }, () => ({ path }))
      }
    }
  ]
}
