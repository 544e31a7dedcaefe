import type { TurnSnapshot } from "@reins/client"
import { useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Outcome } from "../ui/Basics.js"
import { count, shortened } from "../words/Words.js"
import type { Conversation } from "./Conversation.js"

/** The text of the message that a turn works on. */
const textOf = (conversation: Conversation, { message_id }: TurnSnapshot): string => {
  const item = conversation.items.find(({ key }) => key === message_id)
  return item?.kind === "message"
    ? item.message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n")
    : ""
}

/** The messages that wait behind the running turn. One can be taken back into the composer, and changed, before it runs. */
export const Queue = ({
  conversation,
  edit
}: {
  readonly conversation: Conversation
  readonly revision: number
  readonly edit: (text: string) => void
}) => {
  const action = useAction()
  const waiting = [...conversation.turns.values()].filter(
    (turn) => turn.state === "queued" && turn.id !== conversation.turn?.id
  )
  if (waiting.length === 0) return null
  const takeBack = (turn: TurnSnapshot, isEdited: boolean) =>
    action.run("the message", async () => {
      const text = textOf(conversation, turn)
      await reins.turns.cancel({ turn_id: turn.id })
      if (isEdited) edit(text)
    })
  return (
    <section class="queue" aria-label="Queue">
      <p class="fine">{count(waiting.length, "message")} waiting</p>
      <ul>
        {waiting.map((turn) => (
          <li key={turn.id}>
            <span>{shortened(textOf(conversation, turn).split("\n")[0] ?? "", 120)}</span>
            <span class="actions">
              <button type="button" class="small" onClick={() => takeBack(turn, true)}>
                Edit
              </button>
              <button type="button" class="small" onClick={() => takeBack(turn, false)}>
                Remove
              </button>
            </span>
          </li>
        ))}
      </ul>
      <Outcome of={action} />
    </section>
  )
}
