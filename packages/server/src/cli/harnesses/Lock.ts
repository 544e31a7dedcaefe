import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { fitsName } from "@reins/base/base/Globs"
import { command, option, someArguments } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { printJson, tell } from "@reins/cli/terminal/Output"
import { Effect, Schema } from "effect"
import { type Machine, PackageLock, pinsOf, placeOf } from "./PackageLock.js"

/** The machines that are pinned unless a manifest names others. */
const usualPlatforms = [
  { id: "linux-x64", os: "linux", cpu: "x64", libc: "glibc" },
  { id: "linux-arm64", os: "linux", cpu: "arm64", libc: "glibc" },
  { id: "darwin-arm64", os: "darwin", cpu: "arm64" },
  { id: "darwin-x64", os: "darwin", cpu: "x64" }
] as const satisfies ReadonlyArray<Machine & { readonly id: string }>

/** `reins harnesses lock` */
export const lock = command({
  takes: {
    packages: someArguments("package", "npm packages with their versions, as qwen-code@0.24.4"),
    into: option("into", "The manifest that is to have them, for its platforms", { value: "file" }),
    only: option("only", "The packages to keep, with commas: @github/copilot-*", { value: "packages" })
  },
  details: "It asks npm for all that the packages need, each with its digest, and installs nothing.",
  examples: [
    ["reins harnesses lock @qwen-code/qwen-code@0.24.4", "Print the pins"],
    ["reins harnesses lock @qwen-code/qwen-code@0.24.4 --into qwen.json", "Write them into a manifest"]
  ],
  run: ({ into, only, packages }) =>
    Effect.gen(function* () {
      for (const given of packages) if (!exact.test(given)) return yield* inexact(given)
      const found = yield* Effect.promise(() => lockFileOf(packages)).pipe(Effect.flatten)
      const matches = matching(only ?? "*")
      if (into === undefined) {
        const pins = pinsOf(found, usualPlatforms, matches)
        const platforms = usualPlatforms.map((platform, at) => ({ ...platform, packages: pins.platforms[at] ?? [] }))
        return yield* printJson({ packages: pins.packages, platforms })
      }
      const file = into
      const { given, manifest } = yield* readManifest(file)
      const { install } = manifest.runtime
      const pins = pinsOf(found, install.platforms, matches)
      const platforms = install.platforms.map((platform, at) => ({ ...platform, packages: pins.platforms[at] ?? [] }))
      for (const { executable, id, packages: own } of platforms)
        if (![...pins.packages, ...own].some((each) => executable.startsWith(`${placeOf(each)}/`)))
          return yield* new CommandFailed({
            message: `The executable of ${id}, ${executable}, is in none of the packages: the registry may lack those of that platform.`
          })
      const changed = {
        ...manifest,
        runtime: { ...manifest.runtime, install: { ...install, packages: pins.packages, platforms } }
      }
      const written = inOrderOf(changed, given)
      yield* Effect.promise(() => writeFile(file, `${JSON.stringify(written, null, 2)}\n`))
      const count = platforms.map((each) => `${each.id} ${each.packages.length}`).join(", ")
      yield* Effect.sync(() => tell(`${file}: ${pins.packages.length} packages for every platform; besides: ${count}`))
    })
})

/** npm takes an older version than the newest when the newest wants another Node, without a word. So a range is no pin. */
const exact = /^(?:@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/

const inexact = (given: string) =>
  new CommandFailed({
    message: `"${given}" is not a package with an exact version, as in @qwen-code/qwen-code@0.24.4.`
  })

/** Matches names by a comma list of patterns, in which `*` stands for anything. */
const matching = (patterns: string): ((name: string) => boolean) => {
  const wholes = patterns.split(",")
  return (name) => wholes.some((whole) => fitsName(whole, name))
}

const decodeLock = Schema.decodeUnknown(Schema.parseJson(PackageLock))

/** The lock file that npm makes of the packages, without installing anything. */
const lockFileOf = async (packages: ReadonlyArray<string>) => {
  const directory = await mkdtemp(join(tmpdir(), "reins-lock-"))
  const registry = process.env["REINS_NPM_REGISTRY"]
  const options = ["--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--force"]
  try {
    await writeFile(join(directory, "package.json"), "{}")
    await promisify(execFile)(
      "npm",
      ["install", ...options, ...(registry ? [`--registry=${registry}`] : []), ...packages],
      { cwd: directory }
    )
    const text = await readFile(join(directory, "package-lock.json"), "utf8")
    return Effect.mapError(decodeLock(text), ({ message }) => refused(message))
  } catch (cause) {
    return Effect.fail(refused(cause instanceof Error ? cause.message : String(cause)))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const refused = (why: string) =>
  new CommandFailed({ message: `npm gave no lock file for these packages.\n${why.trim()}` })

/** As much of a manifest as has to be there before its packages are. All else stays as it is. */
const Draft = Schema.Struct(
  {
    runtime: Schema.Struct(
      {
        install: Schema.Struct(
          {
            platforms: Schema.NonEmptyArray(
              Schema.Struct(
                {
                  id: Schema.String,
                  os: Schema.Literal("linux", "darwin", "win32"),
                  cpu: Schema.Literal("x64", "arm64"),
                  executable: Schema.String,
                  libc: Schema.optionalWith(Schema.Literal("glibc", "musl"), { exact: true })
                },
                { key: Schema.String, value: Schema.Unknown }
              )
            )
          },
          { key: Schema.String, value: Schema.Unknown }
        )
      },
      { key: Schema.String, value: Schema.Unknown }
    )
  },
  { key: Schema.String, value: Schema.Unknown }
)

const decodeDraft = Schema.decodeUnknown(Schema.parseJson(Draft))

const readManifest = (file: string) =>
  Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: () => new CommandFailed({ message: `${file} cannot be read.` })
  }).pipe(
    Effect.flatMap((text) =>
      Effect.mapBoth(decodeDraft(text), {
        onSuccess: (manifest) => ({ manifest, given: JSON.parse(text) }),
        onFailure: ({ message }) =>
          new CommandFailed({
            message: `${file} names no platforms in runtime.install, each with id, os, cpu and executable.\n${message}`
          })
      })
    )
  )

/** The value with the fields of its objects in the order of another one, because reading by a schema changes the order. */
const inOrderOf = (value: unknown, order: unknown): unknown => {
  if (Array.isArray(value))
    return value.map((item, at) => inOrderOf(item, Array.isArray(order) ? order[at] : undefined))
  if (typeof value !== "object" || value === null) return value
  const before: Readonly<Record<string, unknown>> = typeof order === "object" && order !== null ? { ...order } : {}
  const places = Object.keys(before)
  const place = (name: string) => (places.includes(name) ? places.indexOf(name) : places.length)
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => place(one) - place(other))
      .map(([name, item]) => [name, inOrderOf(item, before[name])])
  )
}
