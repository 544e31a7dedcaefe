import type {
  CallToolResult,
  InputRequiredResult,
  StandardSchemaWithJSON,
  ToolAnnotations
} from "@modelcontextprotocol/server"
import { type Reins, ReinsApiError, ReinsConnectionError, ReinsValidationError } from "@reins/client"
import { z } from "zod"
import { inputOf } from "./Input.js"

/** The account that an assistant works for. */
export interface Caller {
  readonly reins: Reins
  /** The workspace that the tools are about. Asked for with the first call that needs it. */
  readonly workspaceId: () => Promise<string>
  /** Keeps the request keys of different credentials apart. */
  readonly keySpace: string
  /** The address of the console, without a slash at the end. */
  readonly consoleUrl: string
  /** True when the assistant may answer agents and deliver by itself, as its person has decided. */
  readonly isUnattended: boolean
  /** Ends waits when the server is stopped. */
  readonly stopping?: AbortSignal
}

/** A question for the person behind the assistant. Without choices it is answered on its page alone. */
export interface PersonalQuestion {
  readonly message: string
  readonly choices: ReadonlyArray<{ readonly id: string; readonly name: string }>
  /** The page of the console that has the question. */
  readonly page: string
  /** The digest of what the message shows; absent for a question that cannot change. */
  readonly seen?: string | undefined
}

/**
 * `changed`: the person has answered another question than this. `unclear`: the answer is none of the choices. `shown`: the person was led to the page. `unable`: the assistant's program shows neither questions nor
 * links. `asking`: the result brings the question, and the call comes again with the answer.
 */
export type PersonalAnswer =
  | { readonly kind: "chosen"; readonly id: string }
  | { readonly kind: "declined" | "changed" | "unclear" | "shown" | "unable" }
  | { readonly kind: "asking"; readonly result: InputRequiredResult }

/** One call of a tool. */
export interface Call {
  /** Aborted when the assistant withdraws the call, goes away, or the server is stopped. */
  readonly signal: AbortSignal
  /** Tells the assistant's program what goes on, where it listens. */
  readonly progress: (message: string) => void
  readonly askPerson: (question: PersonalQuestion) => Promise<PersonalAnswer>
  /** Lets the work go on as a task, and gives its handle. Undefined for a client without tasks. */
  readonly startTask: ((work: Work) => CallToolResult) | undefined
}

/** The work that a task follows. */
export type Work =
  | {
      readonly tool: "start_session" | "send_message" | "wait"
      readonly turn: string
      /** The event that the words of the result come after. */
      readonly after: number
      /** The newest event of the session. */
      readonly made: number
      /** The longest time to wait; without it the task ends with the turn. */
      readonly seconds?: number | undefined
    }
  | {
      readonly tool: "deliver"
      readonly delivery: string
      readonly job: string
      /** True for a delivery whose merge request is to be opened. */
      readonly request: boolean
    }

export type Result = CallToolResult | InputRequiredResult

type Fields = z.ZodRawShape

export interface Tool<Shape extends Fields = Fields> {
  readonly name: string
  readonly title: string
  /** Told to the model. */
  readonly description: string
  /** The operations of the API that it is made of, by group and method of the client. */
  readonly operations: ReadonlyArray<string>
  readonly marks: ToolAnnotations
  /** The scope that its operations need. */
  readonly scope: "read" | "act" | "write"
  readonly input: Shape
  /** The schema of the input, as it is told, with a tolerant reader. */
  readonly schema: StandardSchemaWithJSON
  readonly run: (caller: Caller, input: z.output<z.ZodObject<Shape>>, call: Call) => Promise<Result>
}

// Boundary: the package calls a tool with the input that its own fields have decoded.
export const tool = <Shape extends Fields>(made: Omit<Tool<Shape>, "schema">): Tool =>
  ({ ...made, schema: inputOf(made.input) }) as unknown as Tool

/** The id of something. A longer text is none, and no request takes it in its path. */
export const anId = z.string().max(200)

export const reads: ToolAnnotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false }

/** The answer of a tool: as fields for programs, and as a text for models. */
export const answer = (value: Record<string, unknown>, text = JSON.stringify(value)): CallToolResult => ({
  structuredContent: value,
  content: [{ type: "text", text }]
})

/** A refusal that the model can read and act on. */
export const refusal = (text: string): CallToolResult => ({ isError: true, content: [{ type: "text", text }] })

/** A refusal of the API or of the way to it. Anything else is a fault of the door, and is thrown. */
export const refusalOf = (error: unknown): CallToolResult => {
  if (error instanceof ReinsValidationError)
    return refusal(`invalid: ${error.detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`).join("; ")}`)
  if (error instanceof ReinsApiError)
    return refusal(`${error.code}: ${error.message}${error.retryable ? " It may work again in a moment." : ""}`)
  if (error instanceof ReinsConnectionError) return refusal(`unreachable: ${error.message}`)
  throw error
}

/** The text from an offset on, at most so many characters of it, and the offset of the rest; null at the end. */
export const partOf = (text: string, offset: number, limit: number) => {
  const part = text.slice(offset, offset + limit)
  const next = offset + part.length
  return { part, total_chars: text.length, next_offset: next < text.length ? next : null }
}

/** The text cut to a length, with a mark where it was. */
export const cut = (text: string, most: number): string =>
  text.length <= most
    ? text
    : `${text.slice(0, most).replace(/[\ud800-\udbff]$/, "")} [${text.length - most} more characters]`
