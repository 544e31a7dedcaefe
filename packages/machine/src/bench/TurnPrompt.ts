import { join } from "node:path"
import { UploadPlace } from "@reins/base/domain/UploadPlace"
import { Effect, Option, Schema } from "effect"
import { Files } from "../files/Files.js"
import type { AgentInput, PromptBlock } from "../harness/TurnInput.js"
import { mediaTypeOf } from "./MediaType.js"
import { attachmentPath } from "./SessionPaths.js"

/** A file that came with a message, as it was uploaded. */
export const PromptFile = Schema.Struct({
  type: Schema.Literal("file"),
  /** An attachment is below the home of the agent. */
  place: UploadPlace,
  /** Its path from the root of the working tree; the name of an attachment. */
  path: Schema.String,
  size: Schema.Int,
  digest: Schema.String
})
type PromptFile = typeof PromptFile.Type

/** A part of what an agent is told. */
export const PromptPart = Schema.Union(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }), PromptFile)
export type PromptPart = typeof PromptPart.Type

/** The working tree and the home of the agent, and the paths at which the agent finds them. */
export type PromptWorkspace = Pick<AgentInput, "homeDir" | "seenAt" | "workspaceDir">

/** The directory of a file, the path at which the agent finds that directory, and the path of the file below. */
const placeOf = ({ homeDir, seenAt, workspaceDir }: PromptWorkspace, { digest, path, place }: PromptFile) =>
  place === "attachment"
    ? { root: homeDir, seenRoot: seenAt?.homeDir ?? homeDir, below: attachmentPath({ name: path, digest }) }
    : { root: workspaceDir, seenRoot: seenAt?.workspaceDir ?? workspaceDir, below: path }

/**
 * Makes the prompt for an agent from the content of messages. The agent gets a link to each file and reads the file itself. A text tells of a
 * file that has changed since its upload, and replaces a file that is gone or cannot be read. The turn runs in each case.
 */
export const make = Effect.map(Files, (files) => {
  const fileBlocks = Effect.fnUntraced(function* (workspace: PromptWorkspace, block: PromptFile) {
    const { digest, path, place, size } = block
    const { below, root, seenRoot } = placeOf(workspace, block)
    const uploaded = `${path} (uploaded with ${size} bytes, ${digest})`
    const found = yield* Effect.option(files.read(root, below, 1))
    if (found._tag === "None") {
      const where = place === "attachment" ? "there" : "in the workspace"
      return [text(`The attached file ${uploaded} is no longer ${where}.`)]
    }
    const name = path.slice(path.lastIndexOf("/") + 1)
    const link: PromptBlock = {
      type: "file",
      path: join(seenRoot, below),
      name,
      mediaType: yield* mediaTypeOf(name),
      size: found.value.size,
      read: (maxBytes) =>
        Effect.map(
          Effect.option(files.read(root, below, maxBytes)),
          Option.flatMap(({ content, encoding, truncated }) =>
            truncated ? Option.none() : Option.some(Buffer.from(content, encoding))
          )
        )
    }
    return found.value.digest === digest
      ? [link]
      : [text(`The attached file ${uploaded} has been changed since: another version is at its path.`), link]
  })

  return (workspace: PromptWorkspace, content: ReadonlyArray<PromptPart>): Effect.Effect<ReadonlyArray<PromptBlock>> =>
    Effect.map(
      Effect.forEach(content, (block) =>
        block.type === "text" ? Effect.succeed([block]) : fileBlocks(workspace, block)
      ),
      (blocks) => blocks.flat()
    )
})

const text = (said: string): PromptBlock => ({ type: "text", text: said })
