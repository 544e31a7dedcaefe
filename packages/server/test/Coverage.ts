import { mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"

/** A function of a script, or a module within it, which is a function under the path of its source. */
interface Covered {
  readonly functionName: string
  readonly ranges: readonly [{ readonly startOffset: number; readonly endOffset: number; readonly count: number }]
}

/** The scripts that V8 has run in a server. */
export type Scripts = ReadonlyArray<{ readonly url: string; readonly functions: ReadonlyArray<Covered> }>

/** Starts a server below a directory, uses it, stops it, and gives what V8 has run in its process. */
export const coverageOf = async (
  directory: string,
  use: (server: ServerProcess, dataDir: string) => Promise<void> = async () => undefined,
  env: Readonly<Record<string, string>> = {}
): Promise<Scripts> => {
  const coverage = join(directory, "coverage")
  const dataDir = join(directory, "data")
  mkdirSync(dataDir, { recursive: true })
  const server = await startServer({ dataDir, env: { ...env, NODE_V8_COVERAGE: coverage } })
  await use(server, dataDir)
  server.kill("SIGTERM")
  await server.ended
  // Processes of the server may write theirs beside it.
  const file = readdirSync(coverage).find((name) => name.startsWith(`coverage-${server.pid}-`)) ?? ""
  return JSON.parse(readFileSync(join(coverage, file), "utf8")).result
}

/** The modules within the program, by the paths of their sources: those that have run, or those that have not. */
export const modulesIn = (scripts: Scripts, run: boolean): ReadonlyArray<Covered> =>
  scripts
    .flatMap(({ functions, url }) => (url.endsWith(".cjs") ? functions : []))
    .filter(({ functionName, ranges: [{ count }] }) => functionName.includes("/") && count > 0 === run)
