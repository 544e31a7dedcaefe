import { execFile, execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import { type Installed, type Packed, type Published, root, tools } from "./Places.js"

const names = ["core", "client", "server"] as const

/** Packs as a release does, with `prepack` and `postpack`. */
const pack = (directory: string): Packed => {
  const workspaces = names.flatMap((name) => ["--workspace", `packages/${name}`])
  execFileSync("npm", ["pack", "--loglevel=error", "--pack-destination", directory, ...workspaces], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"]
  })
  const packed = (name: (typeof names)[number]) => {
    const file = readdirSync(directory).find((each) => each.startsWith(`reins-${name}-`)) ?? ""
    const unpacked = join(directory, name)
    mkdirSync(unpacked)
    execFileSync("tar", ["--extract", "--strip-components=1", "--directory", unpacked, "--file", join(directory, file)])
    return { tarball: join(directory, file), unpacked }
  }
  return { core: packed("core"), client: packed("client"), server: packed("server") }
}

const peersOf = ({ unpacked }: Packed["core"]): Readonly<Record<string, string>> =>
  JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8")).peerDependencies

/** The lowest version of ranges like `^1.2.3`. */
const lowest = (peers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(peers).map(([name, range]) => [name, range.replace("^", "")]))

/** The directories below which package managers put a package. */
const placesOf = (directory: string, name: string): ReadonlyArray<string> => {
  const virtual = join(directory, "node_modules/.pnpm")
  const folders = existsSync(virtual) ? readdirSync(virtual).filter((each) => each.startsWith(`${name}@`)) : []
  return [
    join(directory, "node_modules", name),
    ...folders.map((folder) => join(virtual, folder, "node_modules", name))
  ].filter(existsSync)
}

const commands = {
  npm: ["npm", "install", "--ignore-scripts", "--strict-peer-deps", "--no-audit", "--no-fund", "--no-update-notifier"],
  pnpm: [
    join(tools, "node_modules/.bin/pnpm"),
    "install",
    "--ignore-scripts",
    "--config.strict-peer-dependencies=true",
    "--config.auto-install-peers=false"
  ]
}

/**
 * Installs packages in a new directory. Scripts are left out, because the only one compiles better-sqlite3 for a minute where no prebuilt one
 * can be had; what it makes is copied from this repository, with all that the compiler has left.
 */
const install = async (
  directory: string,
  by: keyof typeof commands,
  dependencies: Readonly<Record<string, string>>
): Promise<Installed> => {
  mkdirSync(directory)
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "consumer", private: true, dependencies }))
  const [command = "", ...args] = commands[by]
  const result = await new Promise<Omit<Installed, "by" | "directory">>((resolve) =>
    execFile(command, args, { cwd: directory }, (error, stdout, stderr) =>
      resolve({ failed: error !== null, output: `${stdout}\n${stderr}` })
    )
  )
  for (const place of placesOf(directory, "better-sqlite3"))
    cpSync(join(root, "node_modules/better-sqlite3/build"), join(place, "build"), { recursive: true })
  return { by, directory, ...result }
}

const installAll = async (directory: string, packed: Packed): Promise<Published["installed"]> => {
  const file = ({ tarball }: Packed["core"]) => `file:${tarball}`
  const types = { "@types/node": "20.19.43" }
  const all = {
    "@reins/client": file(packed.client),
    "@reins/core": file(packed.core),
    "@reins/server": file(packed.server),
    ...types
  }
  const newest = peersOf(packed.core)
  const oldest = lowest(newest)
  const to = (name: string) => join(directory, name)
  const [server, client, lowestNpm, highestNpm, lowestPnpm, highestPnpm] = await Promise.all([
    install(to("server-alone"), "npm", { "@reins/server": file(packed.server) }),
    install(to("client-alone"), "npm", {
      "@reins/client": file(packed.client),
      ...lowest(peersOf(packed.client)),
      ...types
    }),
    install(to("lowest-npm"), "npm", { ...all, ...oldest }),
    install(to("highest-npm"), "npm", { ...all, ...newest }),
    install(to("lowest-pnpm"), "pnpm", { ...all, ...oldest }),
    install(to("highest-pnpm"), "pnpm", { ...all, ...newest })
  ])
  return {
    server,
    client,
    together: {
      "the lowest peers, by npm": lowestNpm,
      "the highest peers, by npm": highestNpm,
      "the lowest peers, by pnpm": lowestPnpm,
      "the highest peers, by pnpm": highestPnpm
    }
  }
}

/** Packs and installs once for all files of the suite. What went wrong with an installation is told by its test. */
export default async (project: TestProject): Promise<() => void> => {
  const directory = mkdtempSync(join(tmpdir(), "reins-published-"))
  const packed = pack(directory)
  project.provide("published", { packed, installed: await installAll(directory, packed) })
  return () => rmSync(directory, { recursive: true, force: true })
}
