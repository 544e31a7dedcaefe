import { execFile, execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { share } from "@reins/testing/Volume"
import { Effect } from "effect"
import { type OnNode, root, tools } from "./Places.js"
import type { Registry } from "./Registry.js"

/** The releases of Node beside the one that runs the tests. Each brings a driver of SQLite that nothing has to compile. */
export const releases = ["22", "24", "26"] as const

const folderOf = (release: string): string =>
  execFileSync(process.execPath, [join(root, "scripts/nodes.mjs"), release, "--where"], { encoding: "utf8" }).trim()

const binary = (name: string): string => join(tools, "node_modules/.bin", name)

interface Manager {
  readonly command: (directory: string) => ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly files: (registry: Registry) => Readonly<Record<string, string>>
}

const npmrc = ({ url }: Registry) => ({ ".npmrc": `@reins:registry=${url}\n` })

const managers: Readonly<Record<OnNode["by"], Manager>> = {
  npm: { command: () => ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier"], files: npmrc },
  pnpm: { command: () => [binary("pnpm"), "install"], files: npmrc },
  yarn: {
    command: (directory) => [
      join(tools, "node_modules/yarn/bin/yarn.js"),
      "install",
      "--non-interactive",
      "--no-progress",
      "--cache-folder",
      join(directory, ".cache")
    ],
    files: npmrc
  },
  "yarn 4": {
    command: () => [join(tools, "node_modules/@yarnpkg/cli-dist/bin/yarn.js"), "install", "--no-immutable"],
    env: { YARN_ENABLE_TELEMETRY: "0", YARN_ENABLE_GLOBAL_CACHE: "0" },
    files: ({ url }) => ({
      ".yarnrc.yml": [
        "nodeLinker: node-modules",
        `npmScopes: { reins: { npmRegistryServer: "${url}" } }`,
        'unsafeHttpWhitelist: ["127.0.0.1"]\n'
      ].join("\n"),
      "yarn.lock": ""
    })
  }
}

/** Nothing can be compiled, so that whoever has no compiler sees the same. */
const withoutCompiler = { CC: "/bin/false", CXX: "/bin/false" }

/** The registry of this machine, which Yarn 4 does not learn from npm. */
const publicRegistry = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" })
  .trim()
  .replace(/\/$/, "")

const install = async (
  directory: string,
  release: string,
  by: OnNode["by"],
  dependencies: Readonly<Record<string, string>>,
  registry: Registry
): Promise<OnNode> => {
  const bin = folderOf(release)
  const { command, env = {}, files } = managers[by]
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "consumer", private: true, dependencies }))
  for (const [name, text] of Object.entries(files(registry))) writeFileSync(join(directory, name), text)
  const [program = "", ...args] = command(directory)
  const isScript = program.endsWith(".js")
  const { failed, output } = await promisify(execFile)(
    isScript ? join(bin, "node") : program,
    isScript ? [program, ...args] : args,
    {
      cwd: directory,
      env: {
        ...process.env,
        ...withoutCompiler,
        YARN_NPM_REGISTRY_SERVER: publicRegistry,
        ...env,
        PATH: `${bin}:${process.env["PATH"]}`
      }
    }
  ).then(
    ({ stderr, stdout }) => ({ failed: false, output: `${stdout}\n${stderr}` }),
    ({ stderr = "", stdout = "", message }) => ({ failed: true, output: `${message}\n${stdout}\n${stderr}` })
  )
  return { by, directory, failed, output, release, node: join(bin, "node") }
}

/** Installs the core and the server on each release, by every package manager in a soak and by all of them on one release otherwise. */
export const installOnNodes = (
  directory: string,
  dependencies: Readonly<Record<string, string>>,
  registry: Registry
): Promise<ReadonlyArray<OnNode>> => {
  const all = releases.flatMap((release) => Object.keys(managers).map((by) => [release, by as OnNode["by"]] as const))
  return Effect.runPromise(
    Effect.forEach(
      share(
        all.filter(([release, by]) => by !== "yarn 4" || release === "24"),
        all
      ),
      ([release, by]) =>
        Effect.promise(() =>
          install(join(directory, `node${release}-${by.replace(" ", "")}`), release, by, dependencies, registry)
        ),
      { concurrency: 3 }
    )
  )
}
