import { spawn } from "node:child_process"
import { once } from "node:events"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** The tools that the document is tried against, which `npm run test:document` installs. */
const tools = fileURLToPath(new URL("../../testing/tools/", import.meta.url))

/** The document as it is kept beside the server; a test of the contract holds it to the one that is served. */
export const documentFile = fileURLToPath(new URL("../openapi.json", import.meta.url))

/** A module of the tools. */
export const load: (name: string) => unknown = createRequire(join(tools, "package.json"))

interface Ended {
  readonly status: number | null
  readonly output: string
}

/** Runs a command of the tools, and gives back its output. */
export const run = (name: string, args: ReadonlyArray<string>): Promise<Ended> =>
  runProgram(join(tools, "node_modules/.bin", name), args, tools)

/** Runs a program beside the tests, and gives back its output. */
export const runProgram = async (program: string, args: ReadonlyArray<string>, cwd?: string): Promise<Ended> => {
  const child = spawn(program, args, {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" }
  })
  const chunks: Array<Buffer> = []
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk))
  const [status] = (await once(child, "close")) as [number | null]
  return { status, output: Buffer.concat(chunks).toString("utf8") }
}
