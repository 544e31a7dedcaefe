import { posix } from "node:path"
import type { PinnedPackage, Platform } from "@reins/machine/harness/Manifest"
import { Schema } from "effect"

const Names = Schema.optionalWith(Schema.Array(Schema.String), { exact: true })
const Ranges = Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), { exact: true })
const Text = Schema.optionalWith(Schema.String, { exact: true })

/** A package of npm's lock file, by the path that it is put in. The one at the empty path is the project itself. */
const LockedPackage = Schema.Struct({
  /** Given where the path names another package than the one that is put there. */
  name: Text,
  version: Text,
  integrity: Text,
  os: Names,
  cpu: Names,
  libc: Names,
  dependencies: Ranges,
  optionalDependencies: Ranges,
  peerDependencies: Ranges,
  peerDependenciesMeta: Schema.optionalWith(
    Schema.Record({
      key: Schema.String,
      value: Schema.Struct({ optional: Schema.optionalWith(Schema.Boolean, { exact: true }) })
    }),
    { exact: true }
  )
})
type LockedPackage = typeof LockedPackage.Type

/** The lock file of npm in its third version, as far as it says what is installed where. */
export const PackageLock = Schema.Struct({
  lockfileVersion: Schema.Literal(3),
  packages: Schema.Record({ key: Schema.String, value: LockedPackage })
})
type PackageLock = typeof PackageLock.Type

/** A machine, as a platform of a manifest describes it. */
export type Machine = Pick<Platform, "os" | "cpu" | "libc">

/** A list of npm allows what it names, or all but what it names with `!`. */
const allows = (names: ReadonlyArray<string> | undefined, value: string): boolean => {
  if (names === undefined || names.length === 0 || names.includes("any")) return true
  if (names.includes(`!${value}`)) return false
  return names.includes(value) || names.every((name) => name.startsWith("!"))
}

const runsOn = ({ cpu, libc = "glibc", os }: Machine, entry: LockedPackage): boolean =>
  allows(entry.os, os) && allows(entry.cpu, cpu) && (os !== "linux" || allows(entry.libc, libc))

/** The path of a dependency as Node finds it: in the package itself, else in the nearest one around it. */
const resolved = ({ packages }: PackageLock, from: string, name: string): string | undefined => {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    const path = posix.join(at, "node_modules", name)
    if (packages[path] !== undefined) return path
    if (at === "") return undefined
  }
}

const wantedBy = (entry: LockedPackage): ReadonlyArray<string> => [
  ...Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }),
  ...Object.keys(entry.peerDependencies ?? {}).filter((name) => entry.peerDependenciesMeta?.[name]?.optional !== true)
]

/** The paths of all packages that the project needs on a machine. */
const neededOn = (lock: PackageLock, machine: Machine): ReadonlySet<string> => {
  const needed = new Set<string>()
  const visit = (path: string): void => {
    const entry = lock.packages[path]
    if (entry === undefined || needed.has(path) || !runsOn(machine, entry)) return
    needed.add(path)
    for (const name of wantedBy(entry)) {
      const next = resolved(lock, path, name)
      if (next !== undefined) visit(next)
    }
  }
  visit("")
  needed.delete("")
  return needed
}

/** The directory that a package is unpacked into. */
export const placeOf = ({ name, path }: PinnedPackage): string => path ?? `node_modules/${name}`

const pinned = (path: string, entry: LockedPackage): PinnedPackage => {
  const placed = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)
  const name = entry.name ?? placed
  return {
    name,
    version: entry.version ?? "",
    integrity: entry.integrity ?? "",
    ...(path !== `node_modules/${name}` && { path })
  }
}

/** The pinned packages of an installation: those of every machine, and what each machine needs besides, in the order of the machines. */
export interface Pins {
  readonly packages: ReadonlyArray<PinnedPackage>
  readonly platforms: ReadonlyArray<ReadonlyArray<PinnedPackage>>
}

/** The packages that a lock file names for some machines, sorted by path. `isWanted` may leave some out by their names. */
export const pinsOf = (
  lock: PackageLock,
  machines: ReadonlyArray<Machine>,
  isWanted: (name: string) => boolean = () => true
): Pins => {
  const needed = machines.map((machine) => neededOn(lock, machine))
  const paths = Object.keys(lock.packages).sort()
  const isCommon = (path: string): boolean => needed.every((own) => own.has(path))
  const pins = (choose: (path: string) => boolean) =>
    paths
      .flatMap((path) => {
        const entry = lock.packages[path]
        return entry !== undefined && choose(path) ? [pinned(path, entry)] : []
      })
      .filter(({ name }) => isWanted(name))
  const [common, own] =
    machines.length > 1
      ? [pins(isCommon), needed.map((set) => pins((path) => set.has(path) && !isCommon(path)))]
      : [
          pins((path) => isCommon(path) && isPlain(lock, path)),
          [pins((path) => isCommon(path) && !isPlain(lock, path))]
        ]
  return { packages: common, platforms: own }
}

/** True for a package that runs on every machine. */
const isPlain = ({ packages }: PackageLock, path: string): boolean => {
  const { cpu, libc, os } = packages[path] ?? {}
  return [cpu, libc, os].every((names) => names === undefined)
}
