import { cutText } from "@reins/base/base/CutText"
import { Effect } from "effect"
import { partReads } from "../requests/rows/PartRows.js"
import { MessageStore } from "../sessions/messages/MessageStore.js"
import { textOf } from "../sessions/rows/Message.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import type { AttentionCause } from "./Care.js"
import type { AttentionRow } from "./CareStore.js"

/** The most characters of what an agent says in a comment. */
const mostWords = 3_000

/** Gives the function that writes what an attention has done: its causes, its commit, and the last words of the agent. */
export const makeSummary = Effect.gen(function* () {
  const turns = yield* TurnStore
  const messages = yield* MessageStore
  const { seenChecksOf } = yield* partReads

  const wordsOf = Effect.fnUntraced(function* ({ turn_id }: AttentionRow) {
    const outcome = turn_id === null ? null : ((yield* turns.find(turn_id))?.outcome ?? null)
    const said = outcome?.message_id == null ? undefined : yield* messages.find(outcome.message_id)
    return said === undefined ? "" : cutText(textOf(said.content).trim(), mostWords)
  })

  return Effect.fnUntraced(function* (attention: AttentionRow) {
    const causes: ReadonlyArray<AttentionCause> = JSON.parse(attention.causes)
    const ids = new Set<string>(causes.flatMap(({ check_ids }) => check_ids))
    const checks = (yield* seenChecksOf(attention.merge_request_id, attention.head_sha)).filter(({ id }) => ids.has(id))
    const comments = causes.reduce((sum, { comment_ids }) => sum + comment_ids.length, 0)
    const words = yield* wordsOf(attention)
    return [
      attention.commit_sha === null
        ? "Reins has looked at this and changed nothing."
        : `Reins has pushed ${attention.commit_sha} for this:`,
      "",
      ...checks.map(({ name }) => `- The check ${JSON.stringify(cutText(name, 200))} had failed.`),
      ...(attention.base_sha === null
        ? []
        : [`- It conflicted with ${attention.base_sha} of the base branch, which is merged now.`]),
      ...(comments === 0 ? [] : [`- ${comments === 1 ? "One comment was" : `${comments} comments were`} written.`]),
      ...(words === "" ? [] : ["", "The agent says:", "", ...words.split("\n").map((line) => `> ${line}`)]),
      "",
      `Turn: ${attention.turn_id ?? ""}`
    ].join("\n")
  })
})
