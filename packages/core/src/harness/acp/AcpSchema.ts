import { Schema } from "effect"

// The schemas hold only the fields that are read. Every other field may be absent, unknown or new, so that no agent is refused for saying more.

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const Tokens = Schema.Struct({
  inputTokens: optional(Schema.Number),
  outputTokens: optional(Schema.Number),
  cachedReadTokens: optional(Schema.Number),
  thoughtTokens: optional(Schema.Number)
})

export const InitializeResult = Schema.Struct({
  protocolVersion: Schema.Literal(1),
  agentInfo: optional(Schema.Struct({ name: Schema.String, version: optional(Schema.String) })),
  agentCapabilities: optional(
    Schema.Struct({
      loadSession: optional(Schema.Boolean),
      sessionCapabilities: optional(
        Schema.Struct({ close: optional(Schema.Unknown), resume: optional(Schema.Unknown) })
      )
    })
  )
})
export type InitializeResult = typeof InitializeResult.Type

const ConfigOption = Schema.Struct({
  id: Schema.String,
  category: optional(Schema.String),
  currentValue: Schema.optional(Schema.Unknown)
})

/** The answer to `session/new`, which has an id, and to `session/load` and `session/resume`, which may have none. */
export const SessionResult = Schema.Struct({
  sessionId: optional(Schema.String),
  configOptions: optional(Schema.Array(ConfigOption)),
  models: optional(Schema.Struct({ currentModelId: optional(Schema.String) }))
})
export type SessionResult = typeof SessionResult.Type

export const PromptResult = Schema.Struct({ stopReason: Schema.String, usage: optional(Tokens) })
export type PromptResult = typeof PromptResult.Type

export const SessionUpdate = Schema.Struct({
  sessionId: Schema.String,
  update: Schema.Struct({ sessionUpdate: Schema.String }, { key: Schema.String, value: Schema.Unknown })
})

export const MessageChunk = Schema.Struct({
  messageId: optional(Schema.String),
  content: Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
})

export const ToolContent = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("diff"),
    path: Schema.String,
    oldText: optional(Schema.String),
    newText: Schema.String
  }),
  Schema.Struct({
    type: Schema.Literal("content"),
    content: Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
  })
)

/** The shape of `tool_call`, `tool_call_update` and the tool of a permission request. An update has a part of the fields. */
export const ToolCall = Schema.Struct({
  toolCallId: Schema.String,
  title: optional(Schema.String),
  kind: optional(Schema.String),
  status: optional(Schema.String),
  content: optional(Schema.Array(Schema.Unknown)),
  rawInput: Schema.optional(Schema.Unknown),
  rawOutput: Schema.optional(Schema.Unknown),
  _meta: optional(Schema.Struct({ terminal_output_delta: optional(Schema.Struct({ data: Schema.String })) }))
})
export type ToolCall = typeof ToolCall.Type

export const UsageUpdate = Schema.Struct({
  used: Schema.Number,
  size: Schema.Number,
  cost: optional(Schema.Struct({ amount: Schema.Number, currency: Schema.String }))
})

export const PermissionRequest = Schema.Struct({
  toolCall: Schema.optional(Schema.Unknown),
  options: Schema.Array(Schema.Struct({ optionId: Schema.String, kind: Schema.String, name: optional(Schema.String) }))
})
export type PermissionRequest = typeof PermissionRequest.Type
