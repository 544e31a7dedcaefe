import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

const modules = join(import.meta.dirname, "node_modules/@modelcontextprotocol")

/** Both programs need Node 22. `npm run test:conformance` names one where the tests have an older one. */
const node = process.env["REINS_TEST_NODE_22"] ?? process.execPath

const programs = {
  conformance: join(modules, "conformance/dist/index.js"),
  inspector: join(modules, "inspector/clients/launcher/build/index.js")
}

export interface Options {
  /** A directory that the program may fill, for its home and its results. */
  readonly directory: string
  readonly env?: Readonly<Record<string, string>>
  /** Takes what the program writes to its output, as it comes. */
  readonly onOutput?: (text: string) => void
}

/** Runs a program of others to its end. */
export const run = async (
  program: keyof typeof programs,
  args: ReadonlyArray<string>,
  { directory, env = {}, onOutput = () => undefined }: Options
): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }> => {
  const child = spawn(node, [programs[program], ...args], {
    cwd: directory,
    env: { PATH: process.env["PATH"] ?? "", HOME: directory, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text
    onOutput(text)
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text
  })
  const [status] = (await once(child, "close")) as [number | null]
  return { status, stdout, stderr }
}
