import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { failpoint } from "@reins/base/base/Failpoint"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect, Layer, ParseResult, Schema } from "effect"
import { actorOf } from "../access/Access.js"
import { ResultSchemas } from "../sessions/results/ResultSchemas.js"
import { TurnResults, type WantedResult } from "../sessions/results/TurnResults.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { ResultSchema } from "../sessions/rows/TurnResult.js"
import { Journal } from "../store/Journal.js"
import { makeTool, ToolFailed, type ToolTurn } from "../tools/Tool.js"
import { ToolSources } from "../tools/ToolSources.js"
import { delegationStates } from "./Delegation.js"
import { DelegationStore } from "./DelegationStore.js"

/** The most results that the agent of a turn may give. */
const maxTries = 5

/**
 * Lets agents give the result of their work, where somebody wants one: the message of the turn, or a session that has delegated. A result is accepted
 * at once. A delegation publishes it with the end of the turn.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sources = yield* ToolSources
    const toolFor = yield* makeResultTool
    const wishOf = yield* makeWishOf
    yield* sources.register({
      toolsOf: (session) => Effect.map(wishOf(session), (wish) => (wish === undefined ? [] : [toolFor(wish)]))
    })
  })
)

/** The schema of the result that the active turn of a session has to give; undefined where nobody wants one. */
const makeWishOf = Effect.gen(function* () {
  const results = yield* TurnResults
  const delegations = yield* DelegationStore
  return Effect.fnUntraced(function* ({ lineage, turns }: SessionRow) {
    const wish = turns.active === null ? undefined : yield* results.find(turns.active.id)
    if (wish !== undefined && wish.schema !== null) return { schema: wish.schema, isRequired: wish.isRequired }
    const { parent_delegation_id: id } = lineage
    const delegation = id === null ? undefined : yield* delegations.find(id)
    if (delegation === undefined || delegationStates.isTerminal(delegation.state)) return undefined
    return { schema: delegation.result_schema, isRequired: false }
  })
})

const makeResultTool = Effect.gen(function* () {
  const journal = yield* Journal
  const results = yield* TurnResults
  const schemas = yield* ResultSchemas
  const sessions = yield* SessionStore

  /** Writes the outcome of a check, unless another result of the turn was accepted meanwhile. */
  const note = (turn: ToolTurn, result: WantedResult["result"], errors: ReadonlyArray<string>) =>
    journal.command(
      "TurnResults.check",
      { by: turn.principal, about: { type: "turn", id: turn.turn.id } },
      Effect.gen(function* () {
        yield* sessions.writable(turn.principal, turn.session.id)
        const known = yield* results.find(turn.turn.id)
        if (known?.result != null)
          return result !== null && canonicalJson(known.result) === canonicalJson(result) ? "accepted" : "already_set"
        if ((known?.tries ?? 0) >= maxTries) return "spent"
        yield* results.check(turn.turn, actorOf(turn.principal), { result, errors })
        return result === null ? "refused" : "accepted"
      })
    )

  return ({ isRequired, schema }: Pick<WantedResult, "schema" | "isRequired">) =>
    makeTool({
      name: "submit_result",
      description:
        "Gives the result of the work that you were asked for: value for programs, summary in words. Call it once, when the work is done. " +
        `A value that does not fit is refused with each place; mend it and call again, ${maxTries} times at most.`,
      is_read_only: false,
      isAlwaysOffered: isRequired,
      input: Schema.Struct({
        value: Schema.optionalWith(Schema.Unknown, { exact: true }),
        summary: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100_000))
      }),
      inputSchema: inputSchemaFor(schema),
      keyOf: (turn, input) => `submit_result:${turn.rootTurnId}:${canonicalJson(input)}`,
      run: Effect.fnUntraced(function* (turn, input) {
        const errors = schema === null ? [] : yield* faultsOf(schemas.checkResult(schema, input))
        const result = errors.length > 0 ? null : { value: input.value ?? null, summary: input.summary }
        const outcome = yield* note(turn, result, errors)
        if (outcome === "accepted") {
          yield* failpoint("result.accepted")
          return { accepted: true }
        }
        return yield* new ToolFailed({ message: refusals[outcome](errors) })
      })
    })
})

const refusals = {
  refused: (errors: ReadonlyArray<string>) => `The value does not fit. ${errors.join(" ")} Mend it and call again.`,
  already_set: () =>
    "Another result of this turn was accepted before (result_already_set). The first one counts; go on.",
  spent: () => `A turn gives at most ${maxTries} results, and none of them fitted. Say in words what is in the way.`
} as const

/** Each place that the schema refuses; none where the value fits. */
const faultsOf = (check: Effect.Effect<void, RequestInvalid>) =>
  Effect.match(check, {
    onSuccess: (): ReadonlyArray<string> => [],
    onFailure: ({ issue }) =>
      ParseResult.ArrayFormatter.formatIssueSync(issue).map(({ message, path }) => `${path.join(".")}: ${message}.`)
  })

/** Gateways refuse schemas that are longer, or that hold one of these words. The prompt has such a schema as text. */
const longestOffered = 8 * 1024
const refusedWords = /"(?:\$ref|\$dynamicRef|patternProperties|if)":/

/** True for a schema that can be a part of what the model is offered. */
const isOfferable = (schema: ResultSchema): boolean => {
  const text = JSON.stringify(schema)
  return text.length <= longestOffered && !refusedWords.test(text)
}

const inputSchemaFor = (schema: ResultSchema | null) => {
  const { $schema: _, ...offered } = schema !== null && isOfferable(schema) ? schema : {}
  return {
    type: "object",
    properties: {
      value: offered,
      summary: { type: "string", description: "What came out, in words." }
    },
    required: schema === null ? ["summary"] : ["value", "summary"],
    additionalProperties: false
  }
}
