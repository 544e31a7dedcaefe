import { createHash } from "node:crypto"
import { statSync } from "node:fs"
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import * as path from "node:path"
import type { Egress } from "@reins/base/base/Egress"
import { fn } from "@reins/base/base/Traced"
import { Config, Context, Effect, Layer, Option, Schema } from "effect"
import * as HostPlatform from "./HostPlatform.js"
import { diskError, HarnessInstallError } from "./InstallError.js"
import type { Manifest, PinnedPackage, Platform, Runtime } from "./Manifest.js"
import { type HarnessNotFound, Manifests } from "./Manifests.js"
import type * as PackageDownload from "./PackageDownload.js"

export { HarnessInstallError } from "./InstallError.js"

const defaultRegistry = "https://registry.npmjs.org"

/** The URL of the registry that packages of agents come from. */
export const npmRegistry = Config.nonEmptyString("REINS_NPM_REGISTRY").pipe(
  Config.orElse(() => Config.nonEmptyString("npm_config_registry")),
  Config.withDefault(defaultRegistry)
)
const markerFile = "reins-install.json"

/** An agent's program on this machine. */
export interface InstalledHarness {
  readonly provider_id: string
  readonly version: string
  readonly directory: string
  readonly executable: string
}

export interface InstallProgress extends PackageDownload.DownloadProgress {
  /** The number of packages that are complete. */
  readonly packages_done: number
  readonly packages_total: number
}

interface Plan {
  readonly manifest: Manifest
  readonly runtime: Runtime
  readonly platform: Platform
  readonly packages: ReadonlyArray<PinnedPackage>
  readonly installed: InstalledHarness
}

/** The record of a finished directory. It is written last, so a directory without a record is not finished. */
const Marker = Schema.parseJson(
  Schema.Struct({
    packages: Schema.Array(Schema.Struct({ name: Schema.String, version: Schema.String, integrity: Schema.String }))
  })
)
const decodeMarker = Schema.decodeUnknownOption(Marker)

const identity = (packages: ReadonlyArray<PinnedPackage>) =>
  packages.map(({ integrity, name, version }) => ({ name, version, integrity }))

const makePlan = (cacheDir: string, manifest: Manifest): Effect.Effect<Plan, HarnessInstallError> => {
  const { provider_id, runtime } = manifest
  if (runtime === null) {
    return Effect.fail(
      new HarnessInstallError({ kind: "disabled", message: `${provider_id} is disabled: there is nothing to install.` })
    )
  }
  const platform = HostPlatform.select(runtime.install.platforms)
  if (platform === undefined) {
    const known = HostPlatform.systemsInWords(HostPlatform.systemsOf(runtime.install.platforms))
    return Effect.fail(
      new HarnessInstallError({
        kind: "platform_unsupported",
        message: `${provider_id} (${runtime.agent.name}) has no build for ${HostPlatform.thisMachine()}. It can be installed on ${known}.`
      })
    )
  }
  const packages = [...runtime.install.packages, ...platform.packages]
  const digest = createHash("sha256").update(JSON.stringify(packages)).digest("hex").slice(0, 12)
  const directory = path.join(
    cacheDir,
    "harnesses",
    `${runtime.agent.name}-${runtime.agent.version}-${platform.id}-${digest}`
  )
  const executable = path.join(directory, platform.executable)
  const installed = { provider_id, version: runtime.agent.version, directory, executable }
  return Effect.succeed({ manifest, runtime, platform, packages, installed })
}

/** A text that changes when the file changes. Empty for a file that is absent or cannot be reached. */
const markOf = (file: string): string => {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    return found?.isFile() === true ? `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}` : ""
  } catch {
    return ""
  }
}

const holdsPackages = (text: string, packages: ReadonlyArray<PinnedPackage>): boolean => {
  const marker = decodeMarker(text)
  return Option.isSome(marker) && JSON.stringify(marker.value.packages) === JSON.stringify(identity(packages))
}

/** The marks of the markers that were good when they were read, by path. */
type Verified = Map<string, string>

/**
 * True when the installation is complete. It looks at the disk each time, because other programs install and remove too. It reads a marker
 * again only when the file has changed.
 */
const isComplete = (plan: Plan, verified: Verified): Effect.Effect<boolean> => {
  const file = path.join(plan.installed.directory, markerFile)
  return Effect.suspend(() => {
    const mark = markOf(file)
    if (mark === "" || markOf(plan.installed.executable) === "") return Effect.succeed(false)
    if (verified.get(file) === mark) return Effect.succeed(true)
    return Effect.promise(async () => {
      const isGood = holdsPackages(await readFile(file, "utf8").catch(() => ""), plan.packages)
      if (isGood) verified.set(file, mark)
      return isGood
    })
  })
}

const onDisk = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: diskError })

/**
 * Builds the installation in a directory beside its place. Downloads stay there until all are complete, so that a second run goes on where the
 * first one stopped.
 */
const build = Effect.fnUntraced(function* (
  plan: Plan,
  source: Parameters<typeof PackageDownload.download>[0],
  onProgress: (progress: InstallProgress) => void
) {
  const { download, unpackPackage: unpack } = yield* Effect.promise(() => import("./PackageDownload.js"))
  const partial = `${plan.installed.directory}.partial`
  const tree = path.join(partial, "tree")
  yield* onDisk(() => mkdir(path.join(partial, "tarballs"), { recursive: true }))
  const total = plan.packages.length
  const tarball = (index: number) => path.join(partial, "tarballs", `${index}.tgz`)
  for (const [index, pinned] of plan.packages.entries()) {
    const report = (progress: PackageDownload.DownloadProgress) =>
      onProgress({ ...progress, packages_done: index, packages_total: total })
    yield* download(source, pinned, tarball(index), report)
  }
  yield* onDisk(() => rm(tree, { recursive: true, force: true }))
  for (const [index, pinned] of plan.packages.entries()) {
    yield* unpack(tarball(index), path.join(tree, pinned.path ?? `node_modules/${pinned.name}`))
  }
  const executable = path.join(tree, plan.platform.executable)
  if (markOf(executable) === "") return yield* executableMissing(plan)
  yield* onDisk(async () => {
    await chmod(executable, 0o755)
    await writeFile(path.join(tree, markerFile), JSON.stringify({ packages: identity(plan.packages) }))
    await rm(plan.installed.directory, { recursive: true, force: true })
    await rename(tree, plan.installed.directory)
    await rm(partial, { recursive: true, force: true })
  })
})

const executableMissing = ({ manifest, platform }: Plan) =>
  new HarnessInstallError({
    kind: "executable_missing",
    message: `The manifest of ${manifest.provider_id} names ${platform.executable} as the program for ${platform.id}, and none of its packages has that file.`
  })

/** Installs the pinned programs of providers on this machine, when somebody asks for it. */
export class HarnessInstall extends Context.Tag("@reins/core/harness/HarnessInstall")<
  HarnessInstall,
  {
    /** The installed program. None when it is not completely installed, or this machine cannot run it. Downloads nothing. */
    readonly find: (providerId: string) => Effect.Effect<Option.Option<InstalledHarness>, HarnessNotFound>
    /**
     * Downloads, verifies and unpacks the packages that are missing. When several processes install at once, one works and the others wait. A
     * run goes on where an interrupted or failed one stopped.
     */
    readonly install: (
      providerId: string,
      onProgress?: (progress: InstallProgress) => void
    ) => Effect.Effect<InstalledHarness, HarnessNotFound | HarnessInstallError>
    /** The progress of the installation that this process works on. None when it works on none, or its first package has not begun. */
    readonly progress: (providerId: string) => Option.Option<InstallProgress>
  }
>() {
  /** Installs below `cacheDir`. The registry is that of `REINS_NPM_REGISTRY`, else of `npm_config_registry`, else the public one of npm. Downloads go through the proxy of the operator. */
  static readonly layer = (cacheDir: string, egress: Egress | null = null) =>
    Layer.effect(
      HarnessInstall,
      Effect.gen(function* () {
        const manifests = yield* Manifests
        const registry = yield* npmRegistry

        const verified: Verified = new Map()
        const underWay = new Map<string, InstallProgress>()
        const plans = new Map<Manifest, Effect.Effect<Plan, HarnessInstallError>>()
        const planOf = (manifest: Manifest) => {
          const plan = plans.get(manifest) ?? makePlan(cacheDir, manifest)
          plans.set(manifest, plan)
          return plan
        }

        const find = fn("HarnessInstall.find")(function* (providerId: string) {
          const plan = yield* Effect.option(planOf(yield* manifests.get(providerId)))
          return Option.isSome(plan) && (yield* isComplete(plan.value, verified))
            ? Option.some(plan.value.installed)
            : Option.none()
        })

        const install = fn("HarnessInstall.install")(function* (
          providerId: string,
          onProgress: (progress: InstallProgress) => void = () => undefined
        ) {
          const plan = yield* planOf(yield* manifests.get(providerId))
          if (yield* isComplete(plan, verified)) return plan.installed
          const report = (progress: InstallProgress) => {
            underWay.set(providerId, progress)
            onProgress(progress)
          }
          const { withLock } = yield* Effect.promise(() => import("./InstallLock.js"))
          yield* Effect.unlessEffect(build(plan, { registry, egress }, report), isComplete(plan, verified)).pipe(
            withLock(`${plan.installed.directory}.lock`, diskError),
            Effect.ensuring(Effect.sync(() => underWay.delete(providerId)))
          )
          return plan.installed
        })

        return HarnessInstall.of({
          find,
          install,
          progress: (providerId) => Option.fromNullable(underWay.get(providerId))
        })
      })
    )
}
