import { foreignName } from "@reins/base/base/ForeignText"
import { isRecord } from "./ForeignMessage.js"

// The border for the answers to calls. A call was done once its answer is there, so nothing odd in the answer may lose the rest of it.

/** The answer of a server to a call. */
export interface ServerAnswer {
  readonly text: string
  readonly is_error: boolean
  readonly images: ReadonlyArray<{ readonly data: string; readonly mime_type: string }>
}

/** Images that models take. A gateway refuses a whole request for one of another kind. */
const shownImages = /^image\/(?:png|jpeg|gif|webp)$/

/** A text on one line. It is not cut here, because a secret in it could then not be found any more. */
const oneLine = (text: string): string => foreignName(text, text.length)

const jsonText = (value: unknown): string => {
  try {
    return JSON.stringify(value)
  } catch {
    return "[A value that is nested too deeply to be shown.]"
  }
}

type Image = ServerAnswer["images"][number]

/** A block as texts and images; the name of the field that cannot be read instead. */
type Read = { readonly text: string } | { readonly image: Image } | { readonly field: string }

const imageOf = (data: unknown, mimeType: unknown, field: string): Read => {
  if (typeof mimeType !== "string") return { field: "mimeType" }
  const mime_type = mimeType.toLowerCase() === "image/jpg" ? "image/jpeg" : mimeType.toLowerCase()
  if (!shownImages.test(mime_type)) return { text: `[${oneLine(mimeType)} that is not shown]` }
  // Programs write base64 with the letters of URLs, and with line ends.
  const bytes = typeof data === "string" ? Buffer.from(data, "base64") : Buffer.of()
  return bytes.length === 0 ? { field } : { image: { data: bytes.toString("base64"), mime_type } }
}

/** An image of a resource is an image. Other bytes are told by their address, because models read none. */
const resourceOf = (resource: unknown): Read => {
  if (!isRecord(resource)) return { field: "resource" }
  const { blob, mimeType = "application/octet-stream", text, uri } = resource
  if (typeof text === "string") return { text }
  if (typeof mimeType === "string" && shownImages.test(mimeType.toLowerCase()))
    return imageOf(blob, mimeType, "resource.blob")
  if (typeof uri !== "string") return { field: "resource.uri" }
  const kind = typeof mimeType === "string" ? oneLine(mimeType) : "application/octet-stream"
  return { text: `[${kind} that is not shown: ${uri}]` }
}

const readBlock = (block: unknown): Read => {
  if (typeof block === "string") return { text: block }
  if (!isRecord(block)) return { field: "" }
  const { data, mimeType, name, resource, text, type, uri } = block
  switch (type) {
    case "image":
      return imageOf(data, mimeType, "data")
    case "resource":
      return resourceOf(resource)
    case "resource_link":
      if (typeof uri !== "string") return { field: "uri" }
      return { text: typeof name === "string" ? `${name}: ${uri}` : uri }
    case "text":
      return typeof text === "string" ? { text } : { field: "text" }
    default:
      // A kind of tomorrow says in words what it has.
      if (typeof text === "string") return { text }
      return typeof type === "string" ? { text: `[${oneLine(type)} that is not shown]` } : { field: "type" }
  }
}

const oddBlock = (at: number, field: string): string =>
  `[Block ${at + 1} of the answer cannot be read${field === "" ? "" : ` (field ${JSON.stringify(field)})`}.]`

const blocksOf = (content: unknown): ReadonlyArray<unknown> =>
  content === undefined || content === null ? [] : Array.isArray(content) ? content : [content]

/** Reads the result of a call. */
export const readAnswer = (raw: unknown): ServerAnswer => {
  const { content, isError, structuredContent, toolResult } = isRecord(raw) ? raw : {}
  const texts: Array<string> = []
  const images: Array<Image> = []
  for (const [at, block] of blocksOf(content).entries()) {
    const read = readBlock(block)
    if ("text" in read) texts.push(read.text)
    else if ("image" in read) images.push(read.image)
    else texts.push(oddBlock(at, read.field))
  }
  // Agents read texts alone, so a value stands as JSON where the server gives no text. The oldest protocol has it as `toolResult`.
  const value = structuredContent ?? toolResult
  if (texts.length === 0 && value !== undefined) texts.push(typeof value === "string" ? value : jsonText(value))
  // A word that says neither yes nor no is no success.
  return { text: texts.join("\n"), is_error: isError !== undefined && isError !== null && isError !== false, images }
}
