// The SQLite driver of Node 20, which has to be compiled. What was compiled is kept in the cache of the user, where agents are kept too, by the
// source, the ABI of Node and the system that it is for. Newer releases of Node have another driver, which needs no compiler.
import { spawnSync } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const folder = "packages/sqlite-node20/node_modules/better-sqlite3"
const compiled = join(root, folder, "build/Release/better_sqlite3.node")

export const needsDriver = Number(process.versions.node.split(".")[0]) < 22

const cache = () =>
  process.env.REINS_CACHE_DIR ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "reins")

/** The file that keeps the driver of this source for this Node on this system. */
const kept = () => {
  const { integrity, version } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages[folder]
  const { glibcVersionRuntime = "none" } = process.report.getReport().header
  const { arch, platform, versions } = process
  const system = `${platform}-${arch}`
  const hash = createHash("sha256").update(JSON.stringify([integrity, versions.modules, system, glibcVersionRuntime]))
  const name = `better-sqlite3-${version}-abi${versions.modules}-${system}-${hash.digest("hex").slice(0, 16)}.node`
  return join(cache(), "drivers", name)
}

const works = () => {
  const open = `new (require(${JSON.stringify(join(root, folder))}))(":memory:").prepare("select 1").get()`
  return existsSync(compiled) && spawnSync(process.execPath, ["-e", open]).status === 0
}

/** Copies a file so that nobody ever sees a part of it. */
const copyWhole = (from, to) => {
  mkdirSync(dirname(to), { recursive: true })
  const part = `${to}.${randomUUID()}`
  try {
    copyFileSync(from, part)
    renameSync(part, to)
  } finally {
    rmSync(part, { force: true })
  }
}

/** Gives true when the driver is at its place, now or before. One of the cache that does not work is removed. */
export const takeDriver = () => {
  if (works()) return true
  const from = kept()
  if (!existsSync(from)) return false
  copyWhole(from, compiled)
  if (works()) return true
  rmSync(from, { force: true })
  rmSync(compiled, { force: true })
  return false
}

/** Keeps the driver that was just compiled. A cache that nobody may write costs the next clone the same again, and no more. */
export const keepDriver = () => {
  if (!works()) {
    process.stderr.write(
      "The SQLite driver was compiled and does not work. Node 20 needs python3 and a C++ compiler for it; Node 24 needs neither.\n"
    )
    process.exit(1)
  }
  try {
    copyWhole(compiled, kept())
  } catch (cause) {
    process.stderr.write(`  The driver could not be kept for other clones: ${cause.message}\n`)
  }
}
