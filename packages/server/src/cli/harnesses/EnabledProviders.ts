import { settingsFiles } from "@reins/core/store/DataDirectory"
import { type OptionalProvider, optionalProviders } from "@reins/machine/harness/OptionalManifests"
import { Effect, Schema } from "effect"
import type { CommandFailed } from "../CommandFailed.js"
import { installationFile } from "../operator/InstallationFile.js"

/** The file that names the optional providers of an installation. */
const file = installationFile(
  settingsFiles.harnesses,
  Schema.Struct({ enabled: Schema.Array(Schema.Literal(...optionalProviders)) }),
  `has to be as {"enabled":["claude"]}, with names out of ${optionalProviders.join(", ")}.`
)

/** The optional providers that were enabled. Fails when the file holds something else. */
export const enabledProviders = (dataDir: string): Effect.Effect<ReadonlyArray<OptionalProvider>, CommandFailed> =>
  Effect.map(file.read(dataDir), (found) => found?.enabled ?? [])

/** Enables exactly these. */
export const enableProviders = (dataDir: string, enabled: ReadonlyArray<OptionalProvider>): Effect.Effect<void> =>
  Effect.asVoid(file.write(dataDir, { enabled }))
