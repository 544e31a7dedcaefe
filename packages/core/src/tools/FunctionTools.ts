import { hash } from "node:crypto"
import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Effect, Layer, ParseResult } from "effect"
import type { FunctionTool } from "../sessions/functions/FunctionTool.js"
import { OfferedTools } from "../sessions/functions/OfferedTools.js"
import { ResultSchemas } from "../sessions/results/ResultSchemas.js"
import type { Interaction } from "../sessions/rows/Interaction.js"
import { makeAskOutside, numbered } from "./AskOutside.js"
import { type HostedTool, ToolFailed, ToolReply, type ToolTurn } from "./Tool.js"
import { ToolSources } from "./ToolSources.js"

/** The time for an answer to a call of a function that says nothing, in seconds. */
const defaultDeadline = 600

/** Offers agents the functions of callers. Each call is an interaction, which whoever has the function answers. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const offered = yield* OfferedTools
    const sources = yield* ToolSources
    const toolFor = yield* makeFunctionTool
    yield* sources.register({
      toolsOf: ({ id, turns }) =>
        Effect.map(offered.find(id, turns.active?.id ?? null), ({ functions }) => functions.map(toolFor))
    })
  })
)

const makeFunctionTool = Effect.gen(function* () {
  const { turnDeadlineMs } = yield* CoreConfig
  const askOutside = yield* makeAskOutside
  const schemas = yield* ResultSchemas

  const faultsOf = (schema: FunctionTool["input_schema"], input: unknown) =>
    Effect.match(schemas.checkResult(schema, { value: input }), {
      onSuccess: (): ReadonlyArray<string> => [],
      onFailure: ({ issue }) =>
        ParseResult.ArrayFormatter.formatIssueSync(issue).map(
          // The input is checked as the value of a result is.
          ({ message, path }) => `${["input", ...path.slice(1)].join(".")}: ${message}.`
        )
    })

  return ({ deadline_seconds = defaultDeadline, description, input_schema, name }: FunctionTool): HostedTool => {
    const { $schema: _, ...schema } = input_schema
    return {
      offered: { name, description, is_read_only: false, input_schema: schema },
      isAlwaysOffered: true,
      isKept: true,
      keyOf: (turn, input) => keyOf(turn, name, input),
      run: Effect.fnUntraced(function* (turn, input, { callId, key }) {
        const faults = yield* faultsOf(input_schema, input)
        if (faults.length > 0)
          return yield* new ToolFailed({
            message: `The input does not fit. ${faults.join(" ")} Mend it and call again.`
          })
        const deadlineMs = Math.min(deadline_seconds * 1000, turnDeadlineMs)
        const settled = yield* askOutside(turn, {
          kind: "tool_call",
          title: name,
          description: null,
          options: [],
          form: null,
          tool: { name, input, call_id: callId, attempt: 1 },
          key: key ?? callId,
          deadlineMs
        })
        return yield* answerOf(settled, deadlineMs)
      })
    }
  }
})

const keyOf = (turn: ToolTurn, name: string, input: unknown): string =>
  numbered(turn, `function:${turn.rootTurnId}:${name}:${hash("sha256", canonicalJson(input), "hex")}`)

const answerOf = (call: Interaction, deadlineMs: number): Effect.Effect<ToolReply, ToolFailed> => {
  const { blocks, claim, is_error, result, state } = call
  if (state === "expired") {
    const who = claim === null ? "No program has taken the call" : "The program that took the call gave no answer"
    const message = `${who} within ${Math.round(deadlineMs / 1000)} seconds. Go on without it.`
    return Effect.fail(new ToolFailed({ message }))
  }
  if (state !== "answered") return Effect.fail(new ToolFailed({ message: "The call was withdrawn." }))
  if (blocks === null) {
    const text = typeof result === "string" ? result : JSON.stringify(result)
    return Effect.succeed(new ToolReply({ text, is_error, images: [] }))
  }
  const text = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")
  const images = blocks.flatMap((block) =>
    block.type === "image" ? [{ data: block.data, mime_type: block.mime_type }] : []
  )
  return Effect.succeed(new ToolReply({ text, is_error, images }))
}
