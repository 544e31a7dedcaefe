import type { Options } from "tsup"
import { buildProgram, release, writeEmptyDatabase } from "./Program.js"
import {
  modulesByName,
  modulesByNameOf,
  packedReference,
  replaced,
  versionAlone,
  versionAloneOf,
  withoutRandomValues
} from "./ProgramPlugins.js"

/** The server of the crash suite, which can be killed at named points and given another agent for alpha. It is never published. */
export const breakableServer = async (): Promise<Options> => {
  const dist = "packages/server/dist-failpoints"
  const options = await buildProgram(dist, [
    replaced("failpoints", /\/Failpoint(?:\.js)?$/, "packages/server/chaos/kills/Failpoint.ts"),
    replaced("scripted agent", /\/manifests\/alpha\.json$/, "packages/server/chaos/agent/AlphaManifest.ts"),
    modulesByName,
    versionAlone
  ])
  await writeEmptyDatabase(dist)
  return options
}

/** The release after this one, for tests of two releases beside each other: it adds to the schema, and writes what it has added. It is never published. */
export const nextServer = (): Promise<Options> =>
  buildProgram(
    "packages/server/dist-next",
    [
      packedReference,
      modulesByNameOf((source, path) => {
        if (!path.endsWith("/messages/MessageStore.ts")) return source
        const written = source.replace("insertRow({", 'insertRow({ written_by: "next",')
        if (written === source) throw new Error("the next release finds no place to write what it has added")
        return written
      }),
      versionAloneOf(nextVersion),
      withoutRandomValues,
      replaced("next-steps", /\/Steps\.js$/, "packages/server/cluster/NextSteps.ts")
    ],
    nextVersion(release)
  )

const nextVersion = (version: string): string =>
  version.replace(/^(\d+)\.(\d+)\..*$/, (_, major, minor) => `${major}.${Number(minor) + 1}.0`)
