#!/usr/bin/env node
// Runs before and after `npm pack` and `npm publish` in the directory of a package, as its `prepack` and `postpack`: makes the build that is
// published, and gives the package for that time the package.json that others read.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const file = resolve("package.json")
// Within the repository, so that it is found again when packing was broken off.
const original = join(root, ".cache/pack", basename(process.cwd()), "package.json")

/** The entry points without the condition by which this repository reads its own sources, and without those that had nothing else. */
const publishedExports = (entries) =>
  Object.fromEntries(
    Object.entries(entries).flatMap(([path, { "@reins/source": _, ...conditions }]) =>
      Object.keys(conditions).length === 0 ? [] : [[path, conditions]]
    )
  )

/** The packages have one version, and one that takes another of them as a peer knows its insides. */
const publishedPeers = (peers, version) =>
  Object.fromEntries(Object.entries(peers).map(([name, range]) => [name, name.startsWith("@reins/") ? version : range]))

/** The driver of SQLite for Node 20 has the version of the packages. In this repository it is no workspace, so that no other Node compiles it. */
const publishedOptional = (optional, version) =>
  optional?.["better-sqlite3"] === undefined ? optional : { ...optional, "@reins/sqlite-node20": version }

/** Without what is for this repository alone: notes, scripts and what the package is built with. */
const published = (text) => {
  const { devDependencies: _, scripts: __, ...manifest } = JSON.parse(text)
  const fields = Object.fromEntries(Object.entries(manifest).filter(([name]) => !name.startsWith("//")))
  const exports = publishedExports(manifest.exports)
  const peerDependencies = publishedPeers(manifest.peerDependencies, manifest.version)
  const optionalDependencies = publishedOptional(manifest.optionalDependencies, manifest.version)
  return `${JSON.stringify({ ...fields, exports, peerDependencies, optionalDependencies }, null, 2)}\n`
}

const restore = () => {
  if (existsSync(original)) renameSync(original, file)
}

const prepare = () => {
  restore()
  const { status } = spawnSync(process.execPath, [join(root, "scripts/setup.mjs"), "--quiet", "--declarations"], {
    stdio: ["ignore", process.stderr, process.stderr]
  })
  if (status !== 0) process.exit(status ?? 1)
  const text = readFileSync(file, "utf8")
  mkdirSync(dirname(original), { recursive: true })
  writeFileSync(original, text)
  writeFileSync(file, published(text))
}

const steps = { prepare, restore }
steps[process.argv[2]]()
