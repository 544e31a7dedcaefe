import type { CommandFailed } from "@reins/cli/CommandFailed"
import { settingsFiles } from "@reins/core/store/DataDirectory"
import { Evidence } from "@reins/machine/harness/Evidence"
import { Effect, Schema } from "effect"
import { installationFile } from "../operator/InstallationFile.js"

/** The file with the evidence of agents on this machine. */
const file = installationFile(
  settingsFiles.evidence,
  Schema.Struct({ evidence: Schema.Array(Evidence) }),
  "holds no evidence. Remove it, and verify your agents again."
)

/** The evidence of an installation. Fails when its file holds something else. */
export const storedEvidence = (dataDir: string): Effect.Effect<ReadonlyArray<Evidence>, CommandFailed> =>
  Effect.map(file.read(dataDir), (found) => found?.evidence ?? [])

/** Stores evidence in the place of what was known of the same subject, and gives the path of the file. */
export const storeEvidence = (dataDir: string, evidence: Evidence): Effect.Effect<string, CommandFailed> =>
  Effect.flatMap(storedEvidence(dataDir), (before) =>
    file.write(dataDir, { evidence: [...before.filter(({ of }) => of !== evidence.of), evidence] })
  )
