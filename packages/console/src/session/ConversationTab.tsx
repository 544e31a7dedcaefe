import { useSignal } from "@preact/signals"
import { useEffect, useMemo, useRef } from "preact/hooks"
import { agentName } from "../agents/AgentNames.js"
import { AskNotices } from "../told/AskNotices.js"
import { PinnedPlan } from "../tools/PlanView.js"
import { Waiting } from "../ui/Basics.js"
import { VirtualList } from "../ui/VirtualList.js"
import { count, duration } from "../words/Words.js"
import { Composer } from "./Composer.js"
import { ends, type Item } from "./Conversation.js"
import { ItemView } from "./ItemView.js"
import { type ConversationRow, rowsOf } from "./Runs.js"
import type { TabProps } from "./SessionPage.js"
import { TurnBar } from "./TurnBar.js"

/** The conversation, with a place to say more. */
export const ConversationTab = ({ log, reload, session }: TabProps) => {
  const { conversation, isWhole } = log
  const revision = log.revision.value
  const chosen = useSignal<ReadonlyMap<string, boolean>>(new Map())
  const { turn } = conversation
  const isRunning = turn !== undefined && !ends.has(turn.state)
  const rows = useMemo(
    () => rowsOf(conversation.items, chosen.value, isRunning),
    [conversation, revision, chosen.value, isRunning]
  )
  const choose = (key: string, isOpen: boolean) => {
    chosen.value = new Map(chosen.value).set(key, isOpen)
  }
  const reveal = useRef<((index: number) => void) | undefined>(undefined)
  useEffect(() => {
    // An address may name a turn.
    const index = rows.findIndex(({ key }) => key !== "" && location.hash === `#${key}`)
    if (isWhole.value && index >= 0) reveal.current?.(index)
  }, [isWhole.value])
  const agent = agentName(session.harness.provider_id)
  return (
    <div class="conversation">
      {!isWhole.value && conversation.items.length === 0 && log.failure.value === undefined && (
        <Waiting what="the conversation" />
      )}
      {isWhole.value && conversation.items.length === 0 && <p class="nothing">There is no message yet.</p>}
      <VirtualList
        items={rows}
        keyOf={keyOf}
        estimate={estimateRow}
        render={(row) =>
          row.kind === "run" ? (
            <RunLine run={row} choose={choose} />
          ) : (
            <div class={row.isInRun ? "in-run" : undefined}>
              <ItemView item={row.item} sessionId={session.id} agent={agent} />
            </div>
          )
        }
        label="Conversation"
        reveal={reveal}
        follows
      />
      <PinnedPlan plan={conversation.plan} />
      <AskNotices since={isRunning ? turn.started_at : null} />
      <TurnBar conversation={conversation} revision={revision} reload={reload} />
      {session.actions.includes("send_message") && (
        <Composer session={session} reload={reload} conversation={conversation} revision={revision} />
      )}
    </div>
  )
}

/** A run of tools in a line, with its time and its steps. */
const RunLine = ({
  run: { failed, from, isOpen, key, steps, to },
  choose
}: {
  readonly run: ConversationRow & { readonly kind: "run" }
  readonly choose: (key: string, isOpen: boolean) => void
}) => (
  <button type="button" class="run" aria-expanded={isOpen} onClick={() => choose(key, !isOpen)}>
    <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> Worked for {duration(from, to)}, {count(steps, "step")}
    {failed > 0 && <span class="bad-words"> · {failed} failed</span>}
  </button>
)

const keyOf = ({ key }: ConversationRow): string => key

const estimateRow = (row: ConversationRow): number => (row.kind === "run" ? 30 : estimate(row.item))

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
      return 34
  }
}
