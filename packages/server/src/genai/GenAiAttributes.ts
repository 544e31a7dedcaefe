import type {
  HostedCall,
  TracedCall,
  TracedContent,
  TracedDelivery,
  TracedTool,
  TracedTurnEnd,
  TurnPlace
} from "@reins/base/base/AgentTraces"
import { cutText } from "@reins/base/base/CutText"
import { genAiNames, otherName, ownNames, providerOf } from "./GenAiNames.js"
import type { SpanAttributes } from "./GenAiSpans.js"

/** The names of tools as spans have them: short, and of plain characters, because agents and foreign servers choose them. */
export const toolNameOf = (name: string): string => {
  const plain = name.replace(/[^\w.:/-]+/g, "_")
  return plain === "" || plain.length > longestToolName ? "other" : plain
}

const longestToolName = 64
const longestCallId = 128

/** The class of error of a model call; undefined for one that was answered, or that the agent itself gave up. */
export const callError = ({ outcome, status }: TracedCall): string | undefined => {
  if (outcome === "answered" || outcome === "abandoned") return undefined
  return outcome === "refused" && status !== null ? String(status) : outcome
}

/** The attributes of a model call, besides its operation. */
export const callAttributes = ({ sessionId, turnId }: TurnPlace, call: TracedCall): SpanAttributes => {
  const { answer, model, outcome, protocol, usage } = call
  const ends = answer?.ends ?? []
  const lack = call.lack === null ? [] : [call.lack === "cut" ? "length" : "content_filter"]
  const finish = ends.length > 0 ? ends : lack
  return {
    [genAiNames.provider]: providerOf(protocol),
    [genAiNames.conversation]: sessionId,
    [genAiNames.requestModel]: model,
    [genAiNames.responseModel]: answer?.model,
    [genAiNames.finishReasons]: finish.length === 0 ? undefined : finish,
    [genAiNames.inputTokens]: usage?.input,
    [genAiNames.outputTokens]: usage?.output,
    [genAiNames.cacheRead]: usage?.cached,
    [genAiNames.cacheWritten]: usage?.cacheWritten,
    [genAiNames.reasoningTokens]: usage?.reasoning,
    [genAiNames.error]: callError(call),
    [ownNames.turn]: turnId,
    [ownNames.callOutcome]: outcome
  }
}

export const toolAttributes = ({ sessionId, turnId }: TurnPlace, tool: TracedTool): SpanAttributes => ({
  [genAiNames.operation]: "execute_tool",
  [genAiNames.toolName]: toolNameOf(tool.kind),
  [genAiNames.toolCall]: cutText(tool.toolId, longestCallId),
  [genAiNames.conversation]: sessionId,
  [genAiNames.toolArguments]: tool.content?.input,
  [genAiNames.toolResult]: tool.content?.output,
  [genAiNames.error]: tool.state === "failed" ? "tool_error" : undefined,
  [ownNames.turn]: turnId,
  [ownNames.toolState]: tool.state
})

/** The class of error of a turn. Neither a success nor a cancellation is one; an end that nobody saw is. */
export const turnError = ({ reason, state }: Pick<TracedTurnEnd, "reason" | "state">): string | undefined =>
  state === "failed" || state === "interrupted" ? (reason ?? otherName) : undefined

/** The attributes of a turn, besides its provider. */
export const turnAttributes = (turn: TracedTurnEnd, content: TracedContent | undefined): SpanAttributes => ({
  [genAiNames.operation]: "invoke_agent",
  [genAiNames.conversation]: turn.sessionId,
  [genAiNames.agentId]: turn.agent.id,
  [genAiNames.agentName]: turn.agent.name,
  [genAiNames.agentVersion]: turn.agent.version,
  [genAiNames.requestModel]: turn.model,
  [genAiNames.inputTokens]: turn.usage.input_tokens,
  [genAiNames.outputTokens]: turn.usage.output_tokens,
  [genAiNames.cacheRead]: turn.usage.cached_tokens,
  [genAiNames.inputMessages]: content && messageOf("user", content.input),
  [genAiNames.outputMessages]:
    content && messageOf("assistant", content.output, { finish_reason: finishOf(turn.state) }),
  [genAiNames.error]: turnError(turn),
  [ownNames.turn]: turn.turnId,
  [ownNames.turnState]: turn.state
})

const messageOf = (role: string, content: string, more: Readonly<Record<string, string>> = {}): string =>
  JSON.stringify([{ role, parts: [{ type: "text", content }], ...more }])

const finishOf = (state: string): string =>
  state === "succeeded" ? "stop" : state === "failed" || state === "interrupted" ? "error" : state

/** The attributes of a call of a tool of the service, which is one of the protocol of tools. */
export const hostedAttributes = ({ sessionId, turnId }: TurnPlace, { callId, tool }: HostedCall): SpanAttributes => ({
  [genAiNames.operation]: "execute_tool",
  [genAiNames.mcpMethod]: "tools/call",
  [genAiNames.toolName]: toolNameOf(tool),
  [genAiNames.toolCall]: cutText(callId, longestCallId),
  [genAiNames.conversation]: sessionId,
  [ownNames.turn]: turnId
})

export const deliveryAttributes = ({ changesetId, id, sessionId, transport }: TracedDelivery): SpanAttributes => ({
  [ownNames.delivery]: id,
  [ownNames.changeset]: changesetId,
  [ownNames.transport]: transport,
  [genAiNames.conversation]: sessionId
})
