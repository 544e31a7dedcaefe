/** One thing that the scripted model does. A step with `tool` is followed by the next step once the agent has run the tool. */
export interface Step {
  /** Reasoning, streamed before the words. */
  readonly think?: string
  readonly say?: string
  /** Pause after each word, in milliseconds. */
  readonly slow_ms?: number
  /** `read`, `write`, `edit`, `bash`, or the name of a tool that the agent offers: the exact one, or its end for a tool of a server. */
  readonly tool?: string
  readonly path?: string
  /** For `write`. */
  readonly content?: string
  /** For `edit`. */
  readonly old?: string
  readonly new?: string
  /** For `bash`. */
  readonly cmd?: string
  /** For `bash`: ask for leave, where the tool lets the model say so. Other agents ask by themselves. */
  readonly ask?: boolean
  /** Exactly these arguments, instead of ones made from the fields above. */
  readonly args?: Record<string, unknown>
  /** Answer with this HTTP status. */
  readonly error?: number
  readonly message?: string
  /** With `error`: the code of the error, or its type where the protocol has no codes. */
  readonly code?: string
  /** With `error`: the seconds of the header `Retry-After`. */
  readonly retry_after?: number
  /** End the answer as one that was cut at its longest length, or withheld by a filter. */
  readonly lack?: "cut" | "withheld"
  /** Never answer; with `say`, stop in the middle of the words. */
  readonly hang?: boolean
  /** Reset the connection in the middle of the stream. */
  readonly drop?: boolean
  /** Answer with this text, which no protocol knows, and a good status. */
  readonly garble?: string
}

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool_call" | "tool_result"
  readonly text: string
  /** The images of the message, as data URLs or as addresses. Absent for none. */
  readonly images?: ReadonlyArray<string>
}

/** A request as it came. Holds no credential. */
export interface GatewayRequest {
  readonly method: string
  readonly path: string
  readonly authorized: boolean
  readonly model: string | undefined
  readonly stream: boolean
  readonly messages: ReadonlyArray<ChatMessage>
  readonly tools: ReadonlyArray<string>
  /** The number of images in the conversation. */
  readonly images: number
  readonly step: Step
}

export interface GatewayOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number
  readonly host?: string
  /** Requests with another key are answered 401. Without it every key is good. */
  readonly apiKey?: string
  readonly models?: ReadonlyArray<string>
  /** The steps for a conversation whose prompt has no script; null for none. Asked anew at each request, so it must be stable. */
  readonly plan?: (messages: ReadonlyArray<ChatMessage>) => Step[] | null
  /** Said when there is neither a script nor a plan. */
  readonly fallback?: string
  readonly onRequest?: (request: GatewayRequest) => void
}

export interface Gateway {
  /** The base URL for a connection, with `/v1`. */
  readonly url: string
  /** The base URL for a connection that speaks `gemini`, with `/v1beta`. */
  readonly geminiUrl: string
  readonly port: number
  /** Every request since the start, in order of arrival. */
  readonly requests: ReadonlyArray<GatewayRequest>
  readonly close: () => Promise<void>
}

/** A prompt that tells the model what to do, step by step. */
export declare const script: (words: string, ...steps: ReadonlyArray<Step>) => string

export declare const defaultModels: ReadonlyArray<string>

/** Serves `/v1/models`, `/v1/chat/completions`, `/v1/responses`, `/v1/messages` and what is below `/v1beta/models` on loopback. */
export declare const startGateway: (options?: GatewayOptions) => Promise<Gateway>
