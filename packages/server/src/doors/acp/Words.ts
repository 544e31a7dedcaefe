import type { SessionUpdate } from "@agentclientprotocol/sdk"
import type { EventPayload, MessageDelta } from "@reins/client"

interface Part {
  said: string
  /** The number of its characters that the log has told; undefined before the log has told of it. */
  told: number | undefined
  shown: number
}

/** Joins words that come ahead of the log with those of the log, so that the editor gets each character once. */
export class Words {
  private readonly parts = new Map<string, Part>()
  private hasBegun = false

  /**
   * Words before they are in the log. The first words of a turn are shown at once. Those of a later part wait for the log, which tells the tools
   * that came before.
   */
  readonly delta = ({ kind, message_id, offset, part_key, text }: MessageDelta): ReadonlyArray<SessionUpdate> => {
    const part = this.partOf(message_id, part_key)
    hear(part, offset, text)
    if (part.told === undefined && part.shown === 0 && this.hasBegun) return []
    return this.newOf(part, kind, message_id)
  }

  readonly logged = ({ message_id, part }: EventPayload<"message.part_added">): ReadonlyArray<SessionUpdate> => {
    if (part.kind !== "text" && part.kind !== "reasoning") return []
    const known = this.partOf(message_id, part.part_key)
    const offset = part.mode === "append" ? (known.told ?? 0) : 0
    known.told = offset + part.content.length
    hear(known, offset, part.content)
    return this.newOf(known, part.kind, message_id)
  }

  /** The editor was shown something else of the turn. */
  readonly begin = (): void => {
    this.hasBegun = true
  }

  readonly endTurn = (): void => {
    this.parts.clear()
    this.hasBegun = false
  }

  private partOf(messageId: string, partKey: string): Part {
    const key = `${messageId} ${partKey}`
    const part = this.parts.get(key) ?? { said: "", told: undefined, shown: 0 }
    this.parts.set(key, part)
    return part
  }

  private newOf(part: Part, kind: "text" | "reasoning", messageId: string): ReadonlyArray<SessionUpdate> {
    const text = part.said.slice(part.shown)
    if (text === "") return []
    part.shown = part.said.length
    this.hasBegun = true
    return [wordsUpdate(kind, text, messageId)]
  }
}

/** Keeps words that go on from those that are known. Others follow words that were lost on the way, which the log brings. */
const hear = (part: Part, offset: number, text: string): void => {
  const { length } = part.said
  if (offset <= length && offset + text.length > length) part.said += text.slice(length - offset)
}

export const wordsUpdate = (kind: "text" | "reasoning", text: string, messageId: string): SessionUpdate => ({
  sessionUpdate: kind === "reasoning" ? "agent_thought_chunk" : "agent_message_chunk",
  content: { type: "text", text },
  messageId
})
