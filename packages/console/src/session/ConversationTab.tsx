import { useMemo } from "preact/hooks"
import { Waiting } from "../ui/Basics.js"
import { VirtualList } from "../ui/VirtualList.js"
import { Composer } from "./Composer.js"
import type { Item } from "./Conversation.js"
import { ItemView } from "./ItemView.js"
import type { TabProps } from "./SessionPage.js"
import { TurnBar } from "./TurnBar.js"

/** The conversation, with a place to say more. */
export const ConversationTab = ({ log, reload, session }: TabProps) => {
  const { conversation, isWhole } = log
  const revision = log.revision.value
  const items = useMemo(() => [...conversation.items], [conversation, revision])
  return (
    <div class="conversation">
      {!isWhole.value && conversation.items.length === 0 && log.failure.value === undefined && (
        <Waiting what="the conversation" />
      )}
      {isWhole.value && conversation.items.length === 0 && <p class="nothing">Nothing was said yet.</p>}
      <VirtualList
        items={items}
        keyOf={keyOf}
        estimate={estimate}
        render={(item) => <ItemView item={item} sessionId={session.id} />}
        label="Conversation"
        follows
      />
      <TurnBar conversation={conversation} reload={reload} />
      {session.actions.includes("send_message") && <Composer session={session} conversation={conversation} />}
    </div>
  )
}

const keyOf = (item: Item): string => item.key

/** About 90 characters stand in a line of 21 pixels. */
const estimate = (item: Item): number => {
  switch (item.kind) {
    case "words":
      return item.words === "reasoning" ? 36 : 24 + 21 * Math.max(1, Math.ceil(item.text.length / 90))
    case "message":
      return 64
    case "question":
      return 120
    case "plan":
      return 40 + 22 * item.plan.entries.length
    default:
      return 40
  }
}
