import type { TurnPrincipal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import type { OfferedTool, ToolImage } from "@reins/machine/relay/mcp/ToolOffer"
import { Data, Effect, JSONSchema, ParseResult, Schema } from "effect"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import type { Turn } from "../sessions/rows/Turn.js"

/** A turn on whose behalf tools are called. */
export interface ToolTurn {
  /** The agent, which acts for the account that sent the message of the turn. */
  readonly principal: TurnPrincipal
  readonly session: SessionRow
  readonly turn: Turn
  /** The first turn of those that try the same message again. Its model wants the same work, in other words perhaps. */
  readonly rootTurnId: string
  /** Counts the calls of the turn that are alike: 1 for the first. */
  readonly count: (what: string) => number
}

/** A call of a tool whose input has the right form. */
export interface HeldCall {
  readonly callId: string
  /** The key of the tool for the call. */
  readonly key: string | null
  /** The longest time until the tool has to answer, in milliseconds; infinite for a caller that hears of progress. */
  readonly patienceMs: number
}

/** The tool could not do what it was asked for. The message is for the model: what happened, and what to do next. */
export class ToolFailed extends Data.TaggedError("ToolFailed")<{
  readonly message: string
  /** True where nobody knows whether the call took effect. */
  readonly mayHaveHappened?: true
}> {}

/** An answer that is more than a text. */
export class ToolReply extends Data.Class<{
  readonly text: string
  readonly is_error: boolean
  readonly images: ReadonlyArray<ToolImage>
}> {}

export type ToolFailure = ToolFailed | ReinsError | RequestInvalid

/** A tool that agents are offered, as a plain value. */
export interface HostedTool {
  readonly offered: OfferedTool
  /** The server that has it; that of the service where it is absent. */
  readonly server?: string
  /** The name that its server has for it. Agents are offered it by another one where that is none that gateways take. */
  readonly ownName?: string
  /** True for a tool that no choice of tools leaves out. */
  readonly isAlwaysOffered?: boolean
  /** True for a tool that others answer. Its call goes on when the agent withdraws it, and the same call again takes its answer. */
  readonly isKept?: boolean
  /** The key under which a call takes effect once; null for one that may be repeated. */
  readonly keyOf: (turn: ToolTurn, input: unknown) => string | null
  /** Gives a text, a `ToolReply`, or a value that becomes JSON. It is interrupted when the agent withdraws the call. */
  readonly run: (turn: ToolTurn, input: unknown, call: HeldCall) => Effect.Effect<unknown, ToolFailure>
}

/** Makes a tool whose input is checked before it runs. The texts of the schema describe the fields to the model. */
export const makeTool = <A, I>(
  tool: Pick<OfferedTool, "name" | "description" | "is_read_only"> & {
    readonly input: Schema.Schema<A, I>
    /** Stands in the place of what the schema says of itself. */
    readonly inputSchema?: Readonly<Record<string, unknown>>
    readonly isAlwaysOffered?: boolean
    readonly isKept?: boolean
    readonly keyOf?: (turn: ToolTurn, input: A) => string
    readonly run: (turn: ToolTurn, input: A, call: HeldCall) => Effect.Effect<unknown, ToolFailure>
  }
): HostedTool => {
  const { description, input: schema, is_read_only, name } = tool
  const decode = Schema.decodeUnknown(schema, { errors: "all", onExcessProperty: "error" })
  const decodeOption = Schema.decodeUnknownOption(schema)
  return {
    ...(tool.isAlwaysOffered !== undefined && { isAlwaysOffered: tool.isAlwaysOffered }),
    ...(tool.isKept !== undefined && { isKept: tool.isKept }),
    offered: { name, description, is_read_only, input_schema: tool.inputSchema ?? jsonSchemaOf(schema) },
    keyOf: (turn, input) => {
      const decoded = decodeOption(input)
      return decoded._tag === "None" || tool.keyOf === undefined ? null : tool.keyOf(turn, decoded.value)
    },
    run: (turn, input, call) =>
      Effect.flatMap(Effect.mapError(decode(input), misfit), (decoded) => tool.run(turn, decoded, call))
  }
}

const jsonSchemaOf = (schema: Schema.Schema.AnyNoContext): Readonly<Record<string, unknown>> => {
  const { $schema: _, ...rest } = JSONSchema.make(schema)
  return rest
}

const misfit = (error: ParseResult.ParseError): ToolFailed =>
  new ToolFailed({ message: `The input does not fit. ${placesOf(error.issue)}` })

const placesOf = (issue: ParseResult.ParseIssue): string =>
  ParseResult.ArrayFormatter.formatIssueSync(issue)
    .map(({ message, path }) => `${path.length === 0 ? "input" : path.join(".")}: ${message}.`)
    .join(" ")

/** The words of a failure for the model. */
export const textOfTool = (failure: ToolFailure): string => {
  if (failure instanceof RequestInvalid) return `${failure.loc.slice(1).join(".")} ${placesOf(failure.issue)}`.trim()
  return failure instanceof ReinsError ? `${failure.message} (${failure.code})` : failure.message
}
