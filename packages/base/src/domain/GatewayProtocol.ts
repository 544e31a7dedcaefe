import { Schema } from "effect"

export const GatewayProtocol = Schema.Literal(
  "openai_chat",
  "openai_responses",
  "anthropic_messages",
  "gemini"
).annotations({
  description: "The wire protocol that a gateway speaks."
})
export type GatewayProtocol = typeof GatewayProtocol.Type
