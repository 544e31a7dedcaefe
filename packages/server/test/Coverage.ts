import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { published, type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"

/** The scripts that V8 has run in a server. */
export type Scripts = ReadonlyArray<{ readonly url: string }>

const scriptsIn = (coverage: string, file: string): Scripts =>
  JSON.parse(readFileSync(join(coverage, file), "utf8")).result

/** Runs a command of the program below a directory, without input, and gives what V8 has run in its process. */
export const coverageOfCommand = (directory: string, words: ReadonlyArray<string>): Scripts => {
  const coverage = mkdtempSync(join(directory, "coverage-"))
  spawnSync(process.execPath, [published, ...words], {
    cwd: directory,
    env: { PATH: process.env["PATH"], HOME: directory, NODE_V8_COVERAGE: coverage },
    input: ""
  })
  return readdirSync(coverage).flatMap((file) => scriptsIn(coverage, file))
}

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
  return scriptsIn(coverage, file)
}

const dist = dirname(published)

/** The modules in each chunk of the program, by the paths of their sources. The build writes the list. */
const modulesOf: Readonly<Record<string, ReadonlyArray<string>>> = JSON.parse(
  readFileSync(join(dist, "modules.json"), "utf8")
)

/** The files of the chunks that have run. */
export const chunksIn = (scripts: Scripts): ReadonlyArray<string> =>
  scripts.flatMap(({ url }) =>
    dirname(url.replace("file://", "")) === dist && basename(url) in modulesOf ? [join(dist, basename(url))] : []
  )

/** The modules in chunks that have run, or those in the other chunks. */
export const modulesIn = (scripts: Scripts, run: boolean): ReadonlyArray<string> => {
  const chunks = new Set(chunksIn(scripts).map((file) => basename(file)))
  return Object.entries(modulesOf).flatMap(([chunk, modules]) => (chunks.has(chunk) === run ? modules : []))
}
