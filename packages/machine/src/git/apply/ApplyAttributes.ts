import { Effect } from "effect"
import { attributesOutside, foldersAbove } from "../../capture/files/Outside.js"
import { latinNames } from "../../capture/index/Capture.js"
import { inDirectory, replaceFile } from "../../files/Beneath.js"
import { readCone } from "../../repository/run/Cone.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import type { ApplyRequest } from "./ApplyRequest.js"

/**
 * Writes the `.gitattributes` of the folders above files that come to a sparse workspace without their folders. They decide how the files are written
 * and stored.
 */
export const bringAttributes = (
  options: GitOptionsShape,
  { gitDir, workTree, base }: ApplyRequest["target"],
  paths: ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    if (paths.length === 0) return
    const texts = yield* attributesOutside(options, yield* readCone(gitDir), { gitDir, base })(foldersAbove(paths))
    yield* Effect.forEach(
      texts,
      ([folder, text]) =>
        inDirectory(workTree, latinNames(folder), { create: true }, (directory) =>
          replaceFile(directory, ".gitattributes", text, { mode: 0o644, exclusive: true })
        ).pipe(
          Effect.catchIf(
            ({ reason }) => reason === "exists",
            () => Effect.void
          )
        ),
      { discard: true }
    )
  })
