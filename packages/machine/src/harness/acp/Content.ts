import { cutText } from "@reins/base/base/CutText"
import type { Media } from "../AgentReport.js"
import type { AcpContent } from "./AcpSchema.js"

/** The longest base64 of one image, in characters: half a megabyte of it. */
const maxData = 768 * 1024
const maxText = 64 * 1024

/** The media that a block of content shows; undefined for words. */
export const mediaOf = (block: AcpContent): Media | undefined => {
  switch (block.type) {
    case "text":
      return undefined
    case "image":
    case "audio":
      return media(block.type, { media_type: block.mimeType, uri: block.uri ?? null, data: block.data })
    case "resource_link":
      return media("resource", { media_type: block.mimeType ?? null, name: block.name, uri: block.uri })
    case "resource": {
      const { blob, mimeType, text, uri } = block.resource
      return media("resource", { media_type: mimeType ?? null, uri, data: blob ?? null, text: text ?? null })
    }
  }
}

const media = (kind: Media["kind"], given: Partial<Media>): Media => {
  const { data = null, text = null } = given
  const isLong = data !== null && data.length > maxData
  return {
    kind,
    media_type: given.media_type ?? null,
    name: given.name ?? null,
    uri: given.uri ?? null,
    data: isLong ? null : data,
    text: text === null ? null : cutText(text, maxText),
    truncated: isLong || (text?.length ?? 0) > maxText
  }
}

/** The words of some content, a line for each block of them. */
export const wordsOf = (content: ReadonlyArray<AcpContent>): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")
