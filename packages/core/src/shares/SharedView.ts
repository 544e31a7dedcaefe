import type { Changeset } from "../changes/Changeset.js"
import { type AnswerPart, type Message, withoutResult } from "../sessions/rows/Message.js"
import type { SharedChangeset, SharedMessage, ShareInclude } from "./Share.js"

/** True for a message of the conversation. Notes are for members, and the others pass between sessions. */
export const isShown = ({ kind, routing }: Message): boolean => kind === "message" && routing !== "note"

/** A message as a link shows it. */
export const toSharedMessage = (
  { content, created_at, ordinal, parts, role }: Message,
  includes: ReadonlyArray<ShareInclude>
): SharedMessage => ({
  ordinal,
  role,
  content: content.map((block) =>
    block.type === "text" ? block : { type: "file" as const, path: block.path, size: block.size }
  ),
  parts: parts.flatMap((part) => partFor(part, includes)),
  created_at
})

const partFor = (part: AnswerPart, includes: ReadonlyArray<ShareInclude>): ReadonlyArray<AnswerPart> => {
  if (part.kind === "reasoning") return includes.includes("reasoning") ? [part] : []
  if (part.kind === "media") return includes.includes("tools") ? [part] : []
  if (part.kind !== "tool" || includes.includes("tools")) return [part]
  // The title of a call may be its command, and its places name files.
  const { kind, part_key, tool } = part
  const bare = { ...tool, title: tool.kind, locations: [] }
  return [withoutResult({ kind, part_key, tool: bare })]
}

/** A changeset as a link shows it. */
export const toSharedChangeset = (changeset: Changeset): SharedChangeset => {
  const { additions, created_at, deletions, file_count, files, id, label } = changeset
  return { id, label, file_count, additions, deletions, files, created_at }
}
