import type { SessionUpdate } from "@agentclientprotocol/sdk"

/** The updates of a past that is shown at once: each tool call in its last state, and words in one piece. */
export const merged = (updates: ReadonlyArray<SessionUpdate>): ReadonlyArray<SessionUpdate> => {
  const items: Array<SessionUpdate> = []
  const calls = new Map<string, number>()
  for (const update of updates) {
    if (update.sessionUpdate === "tool_call") calls.set(update.toolCallId, items.length)
    const place = update.sessionUpdate === "tool_call_update" ? calls.get(update.toolCallId) : undefined
    const call = place === undefined ? undefined : items[place]
    if (place !== undefined && update.sessionUpdate === "tool_call_update" && call?.sessionUpdate === "tool_call") {
      const { content, locations, title, ...rest } = update
      items[place] = {
        ...call,
        ...withoutNulls(rest),
        ...(title != null && { title }),
        ...(content != null && { content }),
        ...(locations != null && { locations }),
        sessionUpdate: "tool_call"
      }
      continue
    }
    const longer = joined(items.at(-1), update)
    if (longer === undefined) items.push(update)
    else items[items.length - 1] = longer
  }
  return items
}

/** The words of two chunks of one message as one; undefined where they are not of one. */
const joined = (last: SessionUpdate | undefined, next: SessionUpdate): SessionUpdate | undefined => {
  if (last === undefined || !isChunk(last) || !isChunk(next)) return undefined
  if (last.sessionUpdate !== next.sessionUpdate || last.messageId !== next.messageId) return undefined
  if (last.content.type !== "text" || next.content.type !== "text") return undefined
  return { ...last, content: { type: "text", text: last.content.text + next.content.text } }
}

type Chunk = Extract<SessionUpdate, { readonly sessionUpdate: "agent_message_chunk" | "agent_thought_chunk" }>

const isChunk = (update: SessionUpdate): update is Chunk =>
  update.sessionUpdate === "agent_message_chunk" || update.sessionUpdate === "agent_thought_chunk"

const withoutNulls = ({
  kind,
  rawInput,
  status
}: Omit<
  Extract<SessionUpdate, { readonly sessionUpdate: "tool_call_update" }>,
  "content" | "locations" | "title"
>) => ({
  ...(kind != null && { kind }),
  ...(status != null && { status }),
  ...(rawInput !== undefined && { rawInput })
})
