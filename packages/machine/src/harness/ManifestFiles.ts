import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Effect } from "effect"
import { ManifestInvalid } from "./ManifestInvalid.js"

/** The content of a manifest, as JSON has it, with the place that it comes from. */
export interface ManifestSource {
  readonly source: string
  readonly content: unknown
}

/** The `*.json` of a directory by name. Fails with `ManifestInvalid` when one cannot be read, or the directory cannot. */
export const readDirectory = (directory: string): Effect.Effect<ReadonlyArray<ManifestSource>, ManifestInvalid> =>
  Effect.gen(function* () {
    const at = resolve(directory)
    const names = yield* attempt(at, "the directory cannot be read", () => readdirSync(at))
    const files = names.filter((name) => name.endsWith(".json")).sort()
    return yield* Effect.forEach(files, (name) => readManifest(join(at, name)))
  })

const readManifest = (source: string): Effect.Effect<ManifestSource, ManifestInvalid> =>
  Effect.gen(function* () {
    const text = yield* attempt(source, "the file cannot be read", () => readFileSync(source, "utf8"))
    const content = yield* attempt(source, "the file is not JSON", (): unknown => JSON.parse(text))
    return { source, content }
  })

const attempt = <A>(source: string, problem: string, run: () => A): Effect.Effect<A, ManifestInvalid> =>
  Effect.try({
    try: run,
    catch: (cause) =>
      new ManifestInvalid({ source, problem: cause instanceof Error ? `${problem} (${cause.message})` : problem })
  })
