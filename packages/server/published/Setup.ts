import { execFile, execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import { installOnNodes } from "./NodeInstalls.js"
import { type Installed, type Packed, type PackedPackage, type Published, root, tools } from "./Places.js"
import { type Registry, type Release, startRegistry } from "./Registry.js"

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

/** Packs the driver of SQLite for Node 20. Any other Node leaves it out. */
const packDriver = (directory: string): Release => {
  const at = join(root, "packages/sqlite-node20")
  execFileSync("npm", ["pack", "--loglevel=error", "--pack-destination", directory], { cwd: at, stdio: "ignore" })
  const tarball = join(directory, readdirSync(directory).find((each) => each.startsWith("reins-sqlite-node20-")) ?? "")
  const manifest = execFileSync("tar", ["--extract", "--to-stdout", "--file", tarball, "package/package.json"])
  return { tarball, manifest: JSON.parse(String(manifest)) }
}

type Manifest = Release["manifest"] & { readonly peerDependencies: Readonly<Record<string, string>> }

const manifestOf = ({ unpacked }: PackedPackage): Manifest =>
  JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"))

/** The lowest version of ranges like `^1.2.3`. */
const lowest = (peers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(peers).map(([name, range]) => [name, range.replace("^", "")]))

/** The directories below which package managers put a package. */
const placesOf = (directory: string, name: string): ReadonlyArray<string> => {
  const virtual = join(directory, "node_modules/.pnpm")
  const folders = existsSync(virtual) ? readdirSync(virtual).filter((each) => each.startsWith(`${name}@`)) : []
  return [
    join(directory, "node_modules", name),
    join(directory, "node_modules/@reins/sqlite-node20/node_modules", name),
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
 * Installs packages in a new directory. Scripts are left out, because the only one compiles the driver of SQLite for Node 20, for a minute where no
 * prebuilt one can be had; what it makes is copied from this repository, with all that the compiler has left.
 */
const install = async (
  directory: string,
  by: keyof typeof commands,
  dependencies: Readonly<Record<string, string>>,
  registry: Registry
): Promise<Installed> => {
  mkdirSync(directory)
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "consumer", private: true, dependencies }))
  writeFileSync(join(directory, ".npmrc"), `@reins:registry=${registry.url}\n`)
  const [command = "", ...args] = commands[by]
  const result = await new Promise<Omit<Installed, "by" | "directory">>((resolve) =>
    execFile(command, args, { cwd: directory }, (error, stdout, stderr) =>
      resolve({ failed: error !== null, output: `${stdout}\n${stderr}` })
    )
  )
  const compiled = join(root, "packages/sqlite-node20/node_modules/better-sqlite3/build")
  for (const place of placesOf(directory, "better-sqlite3"))
    if (existsSync(compiled)) cpSync(compiled, join(place, "build"), { recursive: true })
  return { by, directory, ...result }
}

/** The programs of others that the client has to work with. */
const programVersions = {
  esbuild: "0.25.12",
  jest: "30.2.0",
  "ts-node": "10.9.2",
  tsx: "4.20.6",
  typescript: "5.9.3",
  vite: "7.2.4",
  webpack: "5.102.1"
}

/** Releases of Next, with the React that each wants. Before 15 it keeps the answers of every `fetch` that does not refuse that. */
const nextVersions = {
  "14": { next: "14.2.35", react: "18.3.1", "react-dom": "18.3.1" },
  "15": { next: "15.5.29", react: "19.3.1", "react-dom": "19.3.1" }
}

const installAll = async (directory: string, packed: Packed, registry: Registry): Promise<Published["installed"]> => {
  const version = (each: PackedPackage) => manifestOf(each).version
  const types = { "@types/node": "20.19.43" }
  const all = {
    "@reins/client": version(packed.client),
    "@reins/core": version(packed.core),
    "@reins/server": version(packed.server),
    ...types
  }
  const newest = manifestOf(packed.core).peerDependencies
  const oldest = lowest(newest)
  const to = (name: string) => join(directory, name)
  const inNext = (release: keyof typeof nextVersions) =>
    install(
      to(`next-${release}`),
      "npm",
      { "@reins/client": version(packed.client), ...nextVersions[release] },
      registry
    )
  const [next14, next15, programs, server, client, lowestNpm, highestNpm, lowestPnpm, highestPnpm] = await Promise.all([
    inNext("14"),
    inNext("15"),
    install(to("programs"), "npm", { "@reins/client": version(packed.client), ...programVersions, ...types }, registry),
    install(to("server-alone"), "npm", { "@reins/server": version(packed.server) }, registry),
    install(
      to("client-alone"),
      "npm",
      { "@reins/client": version(packed.client), ...lowest(manifestOf(packed.client).peerDependencies), ...types },
      registry
    ),
    install(to("lowest-npm"), "npm", { ...all, ...oldest }, registry),
    install(to("highest-npm"), "npm", { ...all, ...newest }, registry),
    install(to("lowest-pnpm"), "pnpm", { ...all, ...oldest }, registry),
    install(to("highest-pnpm"), "pnpm", { ...all, ...newest }, registry)
  ])
  return {
    server,
    client,
    programs,
    next: { "14": next14, "15": next15 },
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
  const releases = Object.values(packed).map((each) => ({ tarball: each.tarball, manifest: manifestOf(each) }))
  const registry = await startRegistry([...releases, packDriver(directory)])
  try {
    const installed = await installAll(directory, packed, registry)
    const { peerDependencies, version } = manifestOf(packed.core)
    const dependencies = { "@reins/core": version, "@reins/server": version, ...peerDependencies }
    const onNodes = await installOnNodes(directory, dependencies, registry)
    project.provide("published", { packed, installed, onNodes })
  } finally {
    registry.close()
  }
  return () => rmSync(directory, { recursive: true, force: true })
}
