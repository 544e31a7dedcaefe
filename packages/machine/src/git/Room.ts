import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { markVariables } from "@reins/base/base/Mark"
import { Effect, Layer } from "effect"
import { Git } from "./Git.js"

const layer = Layer.unwrapEffect(
  Effect.map(Effect.all([CoreConfig, Boot]), ([config, { bootId }]) =>
    Git.layerWith({
      allowFile: config.allowLocalRepositories,
      allowSsh: config.allowSshRepositories,
      closedTo: [config.dataDir],
      maxDiffBytes: config.limits.diffBytes,
      maxDiffFileBytes: config.limits.diffFileBytes,
      maxDiffFiles: config.limits.diffFiles,
      marks: markVariables([{ kind: "boot", id: bootId }])
    })
  )
)

/** Clones, captures, diffs, applications and pushes. */
export const git = {
  name: "git",
  layer
} as const
