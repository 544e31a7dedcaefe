import { cutEnd } from "@reins/base/base/CutText"
import { Effect, ParseResult } from "effect"
import { ResultSchemas } from "../../sessions/results/ResultSchemas.js"
import { TurnResults, type WantedResult } from "../../sessions/results/TurnResults.js"
import type { ContentBlock } from "../../sessions/rows/Message.js"
import { Journal } from "../../store/Journal.js"
import { harnessActor, type TurnProblem, type TurnWork } from "../setup/TurnWork.js"
import { lastFence } from "./Fence.js"

/** The results that messages ask for: the words that tell the agent, the one further prompt, and the end of a turn without one. */
export const wantedResults = Effect.gen(function* () {
  const journal = yield* Journal
  const results = yield* TurnResults
  const schemas = yield* ResultSchemas

  const errorsOf = (schema: NonNullable<WantedResult["schema"]>, value: unknown) =>
    Effect.match(schemas.checkResult(schema, { value }), {
      onSuccess: (): ReadonlyArray<string> => [],
      onFailure: ({ issue }) =>
        ParseResult.ArrayFormatter.formatIssueSync(issue).map(({ message, path }) => `${path.join(".")}: ${message}.`)
    })

  return {
    /** The words with which an agent is told of the result that is wanted. Nothing for a turn of which none is. */
    wordsFor: Effect.fnUntraced(function* ({ turn }: TurnWork, hasTool: boolean) {
      const wish = yield* results.find(turn.id)
      if (wish === undefined || wish.schema === null || (!hasTool && !wish.isRequired)) return []
      return [text(hasTool ? byTool(wish.schema) : byWords(wish.schema))]
    }),
    /** Gives the words for an agent that has stopped without a result that fits, once in a turn. Null where nothing is missing. */
    repairOf: ({ turn }: TurnWork) => {
      let isAsked = false
      return Effect.gen(function* () {
        const wish = yield* results.find(turn.id)
        if (isAsked || wish === undefined || wish.schema === null || wish.result !== null) return null
        isAsked = true
        return [text(again(wish.errors))]
      })
    },
    /** Takes the result out of the last words of an agent that has no tool to give it. */
    takeFrom: Effect.fnUntraced(function* ({ session, turn }: TurnWork, content: ReadonlyArray<ContentBlock>) {
      const wish = yield* results.find(turn.id)
      if (wish === undefined || wish.schema === null || !wish.isRequired || wish.result !== null) return
      const found = lastJson(content)
      if (found === undefined) return
      const errors = found.isJson ? yield* errorsOf(wish.schema, found.value) : ["value: it is no JSON."]
      const result = errors.length > 0 ? null : { value: found.value, summary: found.summary }
      yield* journal.commit(results.check(turn, harnessActor(session), { errors, result }))
    }),
    /** The problem of a turn that was to give a result and has none. */
    problemOf: Effect.fnUntraced(function* ({ turn }: TurnWork): Effect.fn.Return<TurnProblem | undefined> {
      const wish = yield* results.find(turn.id)
      if (wish === undefined || !wish.isRequired || wish.result !== null) return undefined
      return wish.tries === 0
        ? {
            reason: "result_missing",
            message: "The agent gave no result. Its changes are kept. Send the message again, or ask for less."
          }
        : {
            reason: "result_invalid",
            message: `None of the ${wish.tries} results that the agent gave satisfies the result_schema. Its changes are kept. The last one: ${wish.errors.slice(0, 5).join(" ")}`
          }
    })
  }
})

const text = (words: string) => ({ type: "text" as const, text: words })

const byTool = (schema: object): string =>
  "When the work is done, give its result with the tool submit_result. Its value has to satisfy this JSON Schema: " +
  JSON.stringify(schema)

const byWords = (schema: object): string =>
  "When the work is done, end with its result as JSON in a block that begins with ```json and ends with ```. It has to satisfy this JSON Schema: " +
  JSON.stringify(schema)

const again = (errors: ReadonlyArray<string>): string =>
  errors.length === 0
    ? "You have stopped without a result. Give it now with the tool submit_result."
    : `The result that you gave does not fit. ${errors.join(" ")} Give one that does, with the tool submit_result.`

/** The last fenced JSON of the last words, with the words before it. */
const lastJson = (content: ReadonlyArray<ContentBlock>) => {
  const said = content.flatMap((block) => (block.type === "text" ? block.text : [])).join("\n")
  const last = lastFence(said)
  if (last === undefined) return undefined
  const summary = cutEnd(said.slice(0, last.at).trim(), 2000) || "The agent gave no words with its result."
  try {
    const value: unknown = JSON.parse(last.inside)
    return { isJson: true, value, summary } as const
  } catch {
    return { isJson: false, value: null, summary } as const
  }
}
