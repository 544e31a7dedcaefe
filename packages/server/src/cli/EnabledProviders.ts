import { readFileSync } from "node:fs"
import { rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { makeDirectory } from "@reins/core/base/MakeDirectory"
import { type OptionalProvider, optionalProviders } from "@reins/core/harness/OptionalManifests"
import { Effect, Option, Schema } from "effect"
import { CommandFailed } from "./CommandFailed.js"

/** The file that names the optional providers of an installation. It does not exist until one is enabled. */
const fileOf = (dataDir: string): string => join(dataDir, "harnesses.json")

const Enabled = Schema.parseJson(Schema.Struct({ enabled: Schema.Array(Schema.Literal(...optionalProviders)) }))

const decode = Schema.decodeUnknownOption(Enabled)

/** The optional providers that were enabled. A server reads them when it starts. Fails when the file holds something else. */
export const enabledProviders = (dataDir: string): Effect.Effect<ReadonlyArray<OptionalProvider>, CommandFailed> =>
  Effect.suspend(() => {
    const file = fileOf(dataDir)
    let text: string
    try {
      text = readFileSync(file, "utf8")
    } catch {
      return Effect.succeed([])
    }
    const found = decode(text)
    return Option.isSome(found)
      ? Effect.succeed(found.value.enabled)
      : new CommandFailed({
          message: `${file} has to be as {"enabled":["claude"]}, with names out of ${optionalProviders.join(", ")}.`
        })
  })

/** Enables exactly these. Another process sees the old file or the new one, never a part. */
export const enableProviders = (dataDir: string, enabled: ReadonlyArray<OptionalProvider>): Effect.Effect<void> =>
  Effect.promise(async () => {
    const file = fileOf(dataDir)
    const part = `${file}.${process.pid}`
    makeDirectory(dataDir, 0o700)
    await writeFile(part, `${JSON.stringify({ enabled })}\n`, { mode: 0o600 })
    await rename(part, file)
  })
