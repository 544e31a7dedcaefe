import { join } from "node:path"
import { Effect, Option, Schema } from "effect"
import { Files } from "../files/Files.js"
import type { AgentInput, PromptBlock } from "../harness/TurnInput.js"
import { mediaTypeOf } from "./MediaType.js"

/** A file that came with a message, as it was uploaded. */
export const PromptFile = Schema.Struct({
  type: Schema.Literal("file"),
  /** Its path from the root of the working tree. */
  path: Schema.String,
  size: Schema.Int,
  digest: Schema.String
})
type PromptFile = typeof PromptFile.Type

/** A part of what an agent is told. */
export const PromptPart = Schema.Union(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }), PromptFile)
export type PromptPart = typeof PromptPart.Type

/** The working tree, and the path at which the agent finds it. */
export type PromptWorkspace = Pick<AgentInput, "seenAt" | "workspaceDir">

/**
 * Makes the prompt for an agent from the content of messages. The agent gets a link to each file and reads the file itself. A text tells of a
 * file that has changed since its upload, and replaces a file that is gone or cannot be read. The turn runs in each case.
 */
export const make = Effect.map(Files, (files) => {
  const fileBlocks = Effect.fnUntraced(function* ({ seenAt, workspaceDir: root }: PromptWorkspace, block: PromptFile) {
    const { digest, path, size } = block
    const uploaded = `${path} (uploaded with ${size} bytes, ${digest})`
    const found = yield* Effect.option(files.read(root, path, 1))
    if (found._tag === "None") return [text(`The attached file ${uploaded} is no longer in the workspace.`)]
    const name = path.slice(path.lastIndexOf("/") + 1)
    const link: PromptBlock = {
      type: "file",
      path: join(seenAt?.workspaceDir ?? root, path),
      name,
      mediaType: yield* mediaTypeOf(name),
      size: found.value.size,
      read: (maxBytes) =>
        Effect.map(
          Effect.option(files.read(root, path, maxBytes)),
          Option.flatMap(({ content, encoding, truncated }) =>
            truncated ? Option.none() : Option.some(Buffer.from(content, encoding))
          )
        )
    }
    return found.value.digest === digest
      ? [link]
      : [text(`The attached file ${uploaded} has been changed since: the workspace holds another version.`), link]
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
