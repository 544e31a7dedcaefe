import type { FormContent } from "@reins/base/domain/Form"
import { faultOf } from "@reins/base/domain/FormAnswers"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect, ParseResult, Schema, SchemaAST } from "effect"
import { type CallBlocks, maxCallAnswer } from "../rows/CallAnswer.js"
import type { Interaction } from "../rows/Interaction.js"
import type { InteractionAnswer } from "./InteractionsApi.js"
import { type GivenAnswer, nothing } from "./ResolveInteraction.js"

/** The answer to a question, which takes one of its options. Fails for one that the question does not take. */
export const optionAnswer = (
  interaction: Interaction,
  input: InteractionAnswer
): Effect.Effect<GivenAnswer, RequestInvalid> =>
  Effect.gen(function* () {
    const { answer, content = null, note = null } = input
    for (const name of ["result", "blocks", "is_error", "claim_id"] as const)
      if (input[name] !== undefined) return yield* refused(name, input[name], "only a tool call has it")
    if (answer === undefined) return yield* missing("answer", input)
    if (!interaction.options.some(({ id }) => id === answer)) return yield* noOption(interaction, answer)
    yield* checkContent(interaction, answer, content)
    if (interaction.kind === "budget" && note !== null)
      return yield* refused("note", note, "the agent hears no note when a budget ends its turn")
    return { ...nothing, answer, content, note }
  })

/** Fails for an answer to another subject than the interaction has. An answer that names none is about the one that it has. */
export const requireSeen = (
  { subject }: Interaction,
  seen: string | undefined
): Effect.Effect<void, ReinsError<"stale_subject">> => {
  const digest = subject?.digest ?? null
  if (seen === undefined || seen === digest) return Effect.void
  return new ReinsError({
    code: "stale_subject",
    message:
      digest === null
        ? "The interaction has no subject. Read it again, and answer it without `seen`."
        : "The agent has changed what it asks for since you looked at it. Read it again with GET /api/sessions/{session_id}/interactions, and answer with the digest of its subject as `seen`.",
    details: { digest, seen }
  })
}

/** The answer to a tool call: a result as JSON, or blocks with at most so many images. */
export const callAnswer = (input: InteractionAnswer, mostImages: number): Effect.Effect<GivenAnswer, RequestInvalid> =>
  Effect.gen(function* () {
    const { blocks = null, is_error = false } = input
    for (const name of ["answer", "note", "content"] as const)
      if (input[name] !== undefined)
        return yield* refused(name, input[name], "a tool call has no options: give a result")
    const hasResult = "result" in input
    if (hasResult && blocks !== null) return yield* refused("blocks", blocks, "give blocks or a result, and not both")
    if (!hasResult && blocks === null) return yield* missing("result", input)
    if (blocks !== null) yield* checkImages(blocks, mostImages)
    const given = hasResult ? input.result : blocks
    const length = JSON.stringify(given).length
    if (length > maxCallAnswer) {
      const problem = `it has ${length} characters of JSON, and ${maxCallAnswer} are allowed`
      return yield* refused(hasResult ? "result" : "blocks", null, problem)
    }
    return { ...nothing, is_error, ...(hasResult ? { result: input.result } : { blocks }) }
  })

/** Each image beyond the limit is refused at its place. */
const checkImages = (blocks: CallBlocks, most: number): Effect.Effect<void, RequestInvalid> => {
  const over = blocks.flatMap(({ type }, at) => (type === "image" ? [at] : [])).slice(most)
  if (over.length === 0) return Effect.void
  const ast = Schema.Unknown.ast
  const problem = `Input should be text: an answer has at most ${most} images. Give fewer, or answer with their addresses`
  const issues = over.map((at) => new ParseResult.Pointer([at], blocks, new ParseResult.Type(ast, null, problem)))
  const [first, ...others] = issues
  if (first === undefined) return Effect.void
  return new RequestInvalid({
    loc: ["body", "blocks"],
    issue: new ParseResult.Composite(ast, blocks, [first, ...others]),
    input: blocks
  })
}

const refused = (name: string, input: unknown, problem: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", name],
    issue: new ParseResult.Type(Schema.Unknown.ast, input, problem),
    input
  })

const missing = (name: string, input: unknown): RequestInvalid =>
  new RequestInvalid({
    loc: ["body"],
    issue: new ParseResult.Pointer([name], input, new ParseResult.Missing(new SchemaAST.Type(Schema.Unknown.ast))),
    input
  })

const noOption = ({ options }: Interaction, answer: string): RequestInvalid => {
  const known = options.map(({ id }) => `'${id}'`).join(", ")
  return new RequestInvalid({
    loc: ["body", "answer"],
    issue: new ParseResult.Type(Schema.String.ast, answer, `it is no option of the interaction, which has ${known}`),
    input: answer
  })
}

/** Only the acceptance of a form has values, and they are what its fields take. */
const checkContent = (
  { form, options }: Interaction,
  answer: string,
  content: FormContent | null
): Effect.Effect<void, RequestInvalid> => {
  const isAcceptance = options.some(({ id, kind }) => id === answer && kind === "accept")
  const fault =
    form === null || !isAcceptance
      ? content === null
        ? undefined
        : { path: [], problem: "only an answer that accepts a form has values" }
      : faultOf(form, content ?? {})
  if (fault === undefined) return Effect.void
  return new RequestInvalid({
    loc: ["body", "content", ...fault.path],
    issue: new ParseResult.Type(Schema.Unknown.ast, content, `Input is not what the form takes: ${fault.problem}`),
    input: content
  })
}
