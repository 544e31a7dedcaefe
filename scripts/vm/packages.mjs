// Debian packages for virtual machines: downloaded by apt with a state of its own, so that nothing of this machine is installed or changed, and
// unpacked below .cache/vm, where the next run finds them.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

export const repository = resolve(dirname(fileURLToPath(import.meta.url)), "../..")
export const cache = join(repository, ".cache/vm")

const mirror = "http://deb.debian.org/debian"
const keys = "/usr/share/keyrings/debian-archive-keyring.gpg"

export const run = (program, args, options = {}) => {
  const { error, status, stderr, stdout } = spawnSync(program, args, {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    ...options
  })
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? stderr}`)
  return stdout
}

/** Makes a directory once for a key, whole or not at all. */
const once = (name, key, make) => {
  const directory = join(
    cache,
    `${name}-${createHash("sha256").update(JSON.stringify(key)).digest("hex").slice(0, 12)}`
  )
  if (existsSync(directory)) return directory
  const making = `${directory}.${process.pid}`
  rmSync(making, { recursive: true, force: true })
  mkdirSync(making, { recursive: true })
  make(making)
  renameSync(making, directory)
  return directory
}

/**
 * The directory with the unpacked packages of a release and of an architecture. `closure` says that what they depend on is unpacked too. What
 * they would run when they are installed is not run.
 */
export const unpacked = ({ architecture, closure = false, names, release }) =>
  once(`${release}-${architecture}`, [names, closure], (directory) => {
    const state = join(directory, ".apt")
    for (const each of ["state/lists/partial", "cache/archives/partial"])
      mkdirSync(join(state, each), { recursive: true })
    writeFileSync(join(state, "sources.list"), `deb [signed-by=${keys}] ${mirror} ${release} main\n`)
    writeFileSync(join(state, "status"), "")
    const options = [
      ["Dir::Etc::sourcelist", join(state, "sources.list")],
      ["Dir::Etc::sourceparts", "-"],
      ["Dir::State", join(state, "state")],
      ["Dir::State::status", join(state, "status")],
      ["Dir::Cache", join(state, "cache")],
      ["APT::Architecture", architecture],
      ["APT::Architectures", architecture],
      ["APT::Sandbox::User", "root"]
    ].flatMap(([name, value]) => ["-o", `${name}=${value}`])
    const archives = join(state, "cache/archives")
    run("apt-get", [...options, "update"])
    const wanted = names.flatMap((name) => (closure ? [name] : [name, ...realNames(options, name)]))
    if (closure)
      run("apt-get", [...options, "install", "--yes", "--download-only", "--no-install-recommends", ...wanted])
    else run("apt-get", [...options, "download", ...wanted], { cwd: archives })
    for (const each of readdirSync(archives).filter((file) => file.endsWith(".deb")))
      run("dpkg-deb", ["--extract", join(archives, each), directory])
    rmSync(state, { recursive: true })
  })

/** The kernel itself, for the package that stands for the newest one. */
const realNames = (options, name) =>
  name.startsWith("linux-image")
    ? [...run("apt-cache", [...options, "depends", name]).matchAll(/Depends: (linux-image-\S+)/g)].map(
        ([, real]) => real
      )
    : []

/** The directory with packages of npm as `node_modules`, without the packages that they need and without their scripts. */
export const npmPackages = (packages) =>
  once("npm", packages, (directory) => {
    for (const [name, version] of Object.entries(packages)) {
      const archive = run("npm", ["pack", "--silent", `${name}@${version}`], { cwd: directory })
        .trim()
        .split("\n")
        .at(-1)
      const target = join(directory, "node_modules", name)
      mkdirSync(target, { recursive: true })
      run("tar", ["-xf", join(directory, archive), "-C", target, "--strip-components=1"])
      rmSync(join(directory, archive))
    }
  })
