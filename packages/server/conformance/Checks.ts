import { mkdirSync, readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { type Options, run } from "./Programs.js"

export interface Check {
  readonly scenario: string
  readonly id: string
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO"
  readonly errorMessage?: string
}

export const nameOf = ({ id, scenario }: Check): string => `${scenario}/${id}`

export const isUnmet = ({ status }: Check): boolean => status === "FAILURE" || status === "WARNING"

/** Names of scenarios may have a slash in them. */
const foldersWithChecks = (results: string): ReadonlyArray<string> =>
  readdirSync(results, { recursive: true, encoding: "utf8" })
    .filter((file) => basename(file) === "checks.json")
    .map(dirname)

/** The checks that the program has left in a directory, in a folder for each scenario. */
const checksIn = (results: string): ReadonlyArray<Check> =>
  foldersWithChecks(results).flatMap((folder) => {
    const [, scenario = folder] = /^(?:(?:authorization-)?server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder) ?? []
    const checks = JSON.parse(readFileSync(join(results, folder, "checks.json"), "utf8")) as ReadonlyArray<Check>
    return checks.map((check) => ({ ...check, scenario }))
  })

/** Runs the conformance suite in a new directory of that name, and reads what it has found. */
export const runSuite = async (
  place: { readonly directory: string; readonly name: string },
  args: ReadonlyArray<string>,
  { env, onOutput }: Pick<Options, "env" | "onOutput"> = {}
): Promise<ReadonlyArray<Check>> => {
  const directory = join(place.directory, place.name)
  mkdirSync(directory)
  const results = join(directory, "results")
  await run("conformance", [...args, "--output-dir", results], {
    directory,
    ...(env && { env }),
    ...(onOutput && { onOutput })
  })
  return checksIn(results)
}
