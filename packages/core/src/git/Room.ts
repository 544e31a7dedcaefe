import { Effect, Layer } from "effect"
import { Boot } from "../base/Boot.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { markVariables } from "../base/Mark.js"
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
