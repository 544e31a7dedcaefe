import type { Item } from "./Conversation.js"

/** A row of the conversation: an item, or the line of a run of tools that is folded or open. */
export type ConversationRow =
  | { readonly kind: "item"; readonly key: string; readonly item: Item; readonly isInRun: boolean }
  | {
      readonly kind: "run"
      readonly key: string
      readonly steps: number
      readonly failed: number
      readonly from: string
      readonly to: string
      readonly isOpen: boolean
    }

/** Fewer tools in a row are shown as they are. */
const least = 3

const isStep = ({ kind }: Item): boolean => kind === "tool"

/** Reasoning between two tools belongs to their run. */
const belongs = (item: Item): boolean => isStep(item) || (item.kind === "words" && item.words === "reasoning")

/**
 * The rows of a conversation. Runs of tools are folded once something follows them. `chosen` is true for those that a person has opened, and
 * false for those that they have folded. The run at the end of a running turn stays open, so that one can see the work.
 */
export const rowsOf = (
  items: ReadonlyArray<Item>,
  chosen: ReadonlyMap<string, boolean>,
  isRunning: boolean
): ReadonlyArray<ConversationRow> => {
  const rows: Array<ConversationRow> = []
  for (let at = 0; at < items.length; ) {
    let end = at
    while (end < items.length && belongs(items[end] as Item)) end++
    const run = items.slice(at, end)
    const tools = run.filter((item) => item.kind === "tool")
    const [first, last] = [tools[0], tools.at(-1)]
    if (first === undefined || last === undefined || tools.length < least) {
      for (const item of items.slice(at, Math.max(end, at + 1)))
        rows.push({ kind: "item", key: item.key, item, isInRun: false })
      at = Math.max(end, at + 1)
      continue
    }
    const key = `run.${first.key}`
    const isOpen = chosen.get(key) ?? (isRunning && end === items.length)
    rows.push({
      kind: "run",
      key,
      steps: tools.length,
      failed: tools.filter(({ tool }) => tool.state === "failed").length,
      from: first.at,
      to: last.ended ?? last.at,
      isOpen
    })
    if (isOpen) for (const item of run) rows.push({ kind: "item", key: item.key, item, isInRun: true })
    at = end
  }
  return rows
}
