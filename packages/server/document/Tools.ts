import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** The tools that the document is tried against, which `npm run test:document` installs. */
const tools = fileURLToPath(new URL("../../testing/tools/", import.meta.url))

/** The document as it is kept beside the server; a test of the contract holds it to the one that is served. */
export const documentFile = fileURLToPath(new URL("../openapi.json", import.meta.url))

/** A module of the tools. */
export const load: (name: string) => unknown = createRequire(join(tools, "package.json"))

/** Runs a command of the tools, and gives back its output. */
export const run = (
  name: string,
  args: ReadonlyArray<string>,
  cwd = tools
): { status: number | null; output: string } => {
  const { status, stderr, stdout } = spawnSync(join(tools, "node_modules/.bin", name), args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" }
  })
  return { status, output: `${stdout}${stderr}` }
}
