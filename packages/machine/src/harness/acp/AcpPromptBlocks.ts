import { pathToFileURL } from "node:url"
import type * as acp from "@agentclientprotocol/sdk/unstable"
import { Effect, Encoding, Option, Ref } from "effect"
import type { PromptBlock } from "../TurnInput.js"
import type { RunningTurn } from "./AcpState.js"
import { asWords } from "./CommandWords.js"

/** The largest image whose content is sent, and the largest text. An agent reads a larger file by itself. */
const maxImageBytes = 5 * 1024 * 1024
const maxTextBytes = 32 * 1024

type FileBlock = Extract<PromptBlock, { type: "file" }>

const wordsOn = ({ mediaType, path, size }: FileBlock): acp.ContentBlock => ({
  type: "text",
  text: `Attached file: ${path} (${mediaType === null ? "" : `${mediaType}, `}${size} bytes)`
})

const linkTo = (block: FileBlock): acp.ContentBlock => ({
  type: "resource_link",
  uri: pathToFileURL(block.path).href,
  name: block.name,
  size: block.size,
  ...(block.mediaType !== null && { mimeType: block.mediaType })
})

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The blocks of a file: its content where the agent offers to take it, and a link, which every agent takes. */
const fileBlocks = Effect.fnUntraced(function* (
  offered: { readonly image: boolean; readonly embeddedContext: boolean },
  block: FileBlock
) {
  const link = linkTo(block)
  const isImage = block.mediaType?.startsWith("image/") === true
  const limit = isImage ? maxImageBytes : maxTextBytes
  const isOffered = isImage ? offered.image : offered.embeddedContext
  if (!isOffered || block.read === undefined || block.size > limit) return [link]
  const bytes = yield* block.read(limit)
  if (Option.isNone(bytes)) return [link]
  const uri = pathToFileURL(block.path).href
  const mimeType = block.mediaType
  if (isImage && mimeType !== null) {
    const image: acp.ContentBlock = { type: "image", data: Encoding.encodeBase64(bytes.value), mimeType, uri }
    return [link, image]
  }
  const text = textOf(bytes.value)
  if (text === undefined) return [link]
  const resource: acp.ContentBlock = {
    type: "resource",
    resource: { uri, text, ...(mimeType !== null && { mimeType }) }
  }
  return [resource]
})

/** The words for the agent, in the blocks of its protocol. */
export const promptBlocks = Effect.fnUntraced(function* (turn: RunningTurn, prompt: ReadonlyArray<PromptBlock>) {
  const { promptCapabilities } = yield* Ref.get(turn.agent.offered)
  const takes = turn.settings.attachments === "offered"
  const offered = {
    image: takes && promptCapabilities?.image === true,
    embeddedContext: takes && promptCapabilities?.embeddedContext === true
  }
  const isTold = turn.settings.attachments === "words"
  const blocks = yield* Effect.forEach(prompt, (block) => {
    if (block.type === "text")
      return Effect.map(asWords(turn.agent.facts, block.text), (text): Array<acp.ContentBlock> => [{ ...block, text }])
    return isTold ? Effect.succeed([wordsOn(block)]) : fileBlocks(offered, block)
  })
  return blocks.flat()
})
