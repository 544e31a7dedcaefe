import { createHash } from "node:crypto"
import { basename } from "node:path"
import { type AgentContext, type ClientCapabilities, type ContentBlock, methods } from "@agentclientprotocol/sdk"
import type { Reins, TextBlock } from "@reins/client"
import { type AttachedBlock, type Attachment, attach, sentAlong } from "./Attachments.js"
import { type EditorMachine, mostTextBytes } from "./EditorMachine.js"
import { fileOf, linesOf, type Paths } from "./Paths.js"
import { invalid } from "./Refusals.js"

interface Source {
  readonly reins: Reins
  readonly client: AgentContext
  readonly capabilities: ClientCapabilities
  readonly sessionId: string
  readonly paths: Paths
  readonly machine: EditorMachine | undefined
}

/** The text that a person typed, without what the editor adds to it. */
export const typedText = (prompt: ReadonlyArray<ContentBlock>): string =>
  prompt.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("")

/** The blocks of a prompt as the content of a message. Pictures, sounds and files from elsewhere become attachments. */
export const messageOf = async (
  source: Source,
  prompt: ReadonlyArray<ContentBlock>
): Promise<ReadonlyArray<TextBlock | AttachedBlock>> => {
  const content: Array<TextBlock | AttachedBlock> = []
  // One after the other: the first attachment of a session makes its workspace.
  for (const [index, block] of prompt.entries()) {
    const part = await partOf(source, block, index + 1)
    content.push(
      typeof part === "string" ? { type: "text", text: part } : await attach(source.reins, source.sessionId, part)
    )
  }
  return content
}

const partOf = async (source: Source, block: ContentBlock, number: number): Promise<string | Attachment> => {
  switch (block.type) {
    case "text":
      return block.text
    case "image":
    case "audio":
      return sentAlong(block.mimeType, block.data, number)
    case "resource": {
      const { resource } = block
      if ("text" in resource) return named(placeOf(source.paths, resource.uri), resource.text, selection(resource.uri))
      return sentAlong(resource.mimeType ?? "", resource.blob, number, nameIn(resource.uri))
    }
    case "resource_link":
      return linked(source, block.uri)
    default:
      throw invalid("Reins takes text, pictures, sounds and files in a prompt.")
  }
}

/** The name at the end of an address; undefined where it has none that a file may have. */
const nameIn = (uri: string): string | undefined => {
  const name = basename(fileOf(uri) ?? uri.replace(/[?#].*$/s, ""))
  return /^[^\\/:\0]{1,100}$/.test(name) && !/^\.+$/.test(name) ? name : undefined
}

const placeOf = (paths: Paths, uri: string): string => paths.fromEditor(uri) ?? uri

const linked = async (source: Source, uri: string): Promise<string | Attachment> => {
  const path = source.paths.fromEditor(uri)
  const file = fileOf(uri)
  if (path !== undefined && file !== undefined) {
    const theirs = await editorText(source, file)
    const lines = linesOf(uri)
    const place = lines === undefined ? `\`${path}\`` : `lines ${lines} of \`${path}\``
    if (theirs === undefined || !(await differs(source, path, theirs))) return place
    return `${place}, which differs in the editor:\n${named(path, theirs, ' version="of the editor"')}`
  }
  if (file === undefined) return uri
  const outside = await source.machine?.attachment(file)
  return outside ?? `(${basename(file)} cannot be read, or is too large, so it is not part of the message.)`
}

/** The lines that a person has selected, as an attribute. */
const selection = (uri: string): string => {
  const lines = linesOf(uri)
  return lines === undefined ? "" : ` lines="${lines}"`
}

const named = (path: string, content: string, more: string): string =>
  `<file path="${path}"${more}>\n${content.replace(/\n$/, "")}\n</file>`

/** The text of a file as the editor has it, which may not be saved. Undefined for one that is too long, or no text. */
const editorText = async (source: Source, file: string): Promise<string | undefined> => {
  const { capabilities, client, machine, sessionId } = source
  if (capabilities.fs?.readTextFile !== true) return machine?.text(file)
  try {
    const { content } = await client.request(methods.client.fs.readTextFile, { sessionId, path: file })
    return Buffer.byteLength(content) > mostTextBytes ? undefined : content
  } catch {
    // An editor may refuse a file that it has not opened.
    return machine?.text(file)
  }
}

/** True unless the session has the same file. A session whose workspace is not made yet counts as different. */
const differs = async ({ reins, sessionId }: Source, path: string, content: string): Promise<boolean> => {
  try {
    // A workspace that is not made yet may come later, and the client would wait for it.
    const { workspace } = await reins.sessions.get({ session_id: sessionId })
    if (workspace.state !== "ready") return true
    const { digest } = await reins.sessions.getFile({ session_id: sessionId, path })
    return digest !== `sha256:${createHash("sha256").update(content).digest("hex")}`
  } catch {
    return true
  }
}
