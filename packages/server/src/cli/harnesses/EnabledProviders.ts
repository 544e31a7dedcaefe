import type { CommandFailed } from "@reins/cli/CommandFailed"
import { settingsFiles } from "@reins/core/store/DataDirectory"
import { type OptionalProvider, optionalProviders } from "@reins/machine/harness/OptionalManifests"
import { Effect, Schema } from "effect"
import { installationFile } from "../operator/InstallationFile.js"

/** The file in which earlier releases kept the optional providers that were enabled. Now they are rows. */
const file = installationFile(
  settingsFiles.harnesses,
  Schema.Struct({ enabled: Schema.Array(Schema.Literal(...optionalProviders)) }),
  `has to be as {"enabled":["claude"]}, with names out of ${optionalProviders.join(", ")}.`
)

/** The optional providers that the file names. Fails when it holds something else. */
export const enabledProviders = (dataDir: string): Effect.Effect<ReadonlyArray<OptionalProvider>, CommandFailed> =>
  Effect.map(file.read(dataDir), (found) => found?.enabled ?? [])

/** Takes providers out of the file. */
export const forgetProviders = (dataDir: string, ids: ReadonlyArray<string>): Effect.Effect<void, CommandFailed> =>
  Effect.flatMap(enabledProviders(dataDir), (before) => {
    const enabled = before.filter((id) => !ids.includes(id))
    return enabled.length === before.length ? Effect.void : Effect.asVoid(file.write(dataDir, { enabled }))
  })
