/** The version of the semantic conventions of OpenTelemetry that the names are taken from: the last one that its main repository has released them in. */
export const conventionsVersion = "1.41.1"

/** The attributes by the conventions. A test compares them with their registry. */
export const genAiNames = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheRead: "gen_ai.usage.cache_read.input_tokens",
  cacheWritten: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  tokenType: "gen_ai.token.type",
  agentId: "gen_ai.agent.id",
  agentName: "gen_ai.agent.name",
  agentVersion: "gen_ai.agent.version",
  toolName: "gen_ai.tool.name",
  toolCall: "gen_ai.tool.call.id",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  mcpMethod: "mcp.method.name",
  error: "error.type"
} as const

/** Attributes of our own, for which the conventions have none. */
export const ownNames = {
  turn: "reins.turn.id",
  turnState: "reins.turn.state",
  toolState: "reins.tool.state",
  callOutcome: "reins.model_call.outcome",
  delivery: "reins.delivery.id",
  changeset: "reins.changeset.id",
  transport: "reins.delivery.transport"
} as const

/** The value of an error without a word of its own, by the conventions. It also stands for a name that is one too many for the labels of a figure. */
export const otherName = "_OTHER"

/** The operations, which begin the names of spans. */
export type GenAiOperation = "chat" | "generate_content" | "invoke_agent" | "execute_tool"

/** The provider whose protocol a model call speaks. Gateways speak the protocol of another provider, and the conventions want that one. */
export const providerOf = (protocol: string): string | undefined => providers[protocol]

const providers: Readonly<Record<string, string>> = {
  openai_chat: "openai",
  openai_responses: "openai",
  anthropic_messages: "anthropic",
  gemini: "gcp.gemini"
}
