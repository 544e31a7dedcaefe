import type * as acp from "@agentclientprotocol/sdk"
import { Schema } from "effect"

// The schemas hold only the fields that are read. Every other field may be absent, unknown or new, so that no agent is refused for saying more.

/** Holds a schema to the protocol at compile time: it reads all that the protocol lets an agent say there. */
export const reading =
  <Wire>() =>
  <S extends Schema.Schema.Any>(schema: S & (Wire extends Schema.Schema.Encoded<S> ? unknown : "not all is read")): S =>
    schema

/** What may be asked of an agent, as the protocol has it. */
export interface Requests {
  readonly initialize: acp.InitializeRequest
  readonly "session/new": acp.NewSessionRequest
  readonly "session/load": acp.LoadSessionRequest
  readonly "session/resume": acp.ResumeSessionRequest
  readonly "session/prompt": acp.PromptRequest
  readonly "session/close": acp.CloseSessionRequest
  readonly "session/set_config_option": acp.SetSessionConfigOptionRequest
  /** It has left the protocol for the options, and there are agents that know nothing else. */
  readonly "session/set_model": { readonly sessionId: string; readonly modelId: string }
}

/** What an agent is told without an answer. */
export interface Notices {
  readonly "session/cancel": acp.CancelNotification
}

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const Tokens = Schema.Struct({
  inputTokens: optional(Schema.Number),
  outputTokens: optional(Schema.Number),
  cachedReadTokens: optional(Schema.Number),
  thoughtTokens: optional(Schema.Number)
})

export const InitializeResult = reading<acp.InitializeResponse & { readonly protocolVersion: 1 }>()(
  Schema.Struct({
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
)
export type InitializeResult = typeof InitializeResult.Type

const ConfigOption = Schema.Struct({
  id: Schema.String,
  category: optional(Schema.String),
  currentValue: Schema.optional(Schema.Unknown)
})

/** The answer to `session/new`, which has an id, and to `session/load` and `session/resume`, which may have none. */
export const SessionResult = reading<acp.NewSessionResponse | acp.LoadSessionResponse | acp.ResumeSessionResponse>()(
  Schema.Struct({
    sessionId: optional(Schema.String),
    configOptions: optional(Schema.Array(ConfigOption)),
    models: optional(Schema.Struct({ currentModelId: optional(Schema.String) }))
  })
)
export type SessionResult = typeof SessionResult.Type

export const PromptResult = reading<acp.PromptResponse>()(
  Schema.Struct({ stopReason: Schema.String, usage: optional(Tokens) })
)
export type PromptResult = typeof PromptResult.Type

export const SessionUpdate = reading<acp.SessionNotification>()(
  Schema.Struct({
    sessionId: Schema.String,
    update: Schema.Struct({ sessionUpdate: Schema.String }, { key: Schema.String, value: Schema.Unknown })
  })
)

export const MessageChunk = reading<acp.ContentChunk & { readonly content: { readonly type: "text" } }>()(
  Schema.Struct({
    messageId: optional(Schema.String),
    content: Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
  })
)

export const ToolContent = reading<
  Exclude<acp.ToolCallContent, { readonly type: "terminal" }> & { readonly content?: { readonly type: "text" } }
>()(
  Schema.Union(
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
)

/** The shape of `tool_call`, `tool_call_update` and the tool of a permission request. An update has a part of the fields. */
export const ToolCall = reading<Omit<acp.ToolCall | acp.ToolCallUpdate, "_meta">>()(
  Schema.Struct({
    toolCallId: Schema.String,
    title: optional(Schema.String),
    kind: optional(Schema.String),
    status: optional(Schema.String),
    content: optional(Schema.Array(Schema.Unknown)),
    rawInput: Schema.optional(Schema.Unknown),
    rawOutput: Schema.optional(Schema.Unknown),
    _meta: optional(Schema.Struct({ terminal_output_delta: optional(Schema.Struct({ data: Schema.String })) }))
  })
)
export type ToolCall = typeof ToolCall.Type

export const UsageUpdate = reading<acp.UsageUpdate>()(
  Schema.Struct({
    used: Schema.Number,
    size: Schema.Number,
    cost: optional(Schema.Struct({ amount: Schema.Number, currency: Schema.String }))
  })
)

export const PermissionRequest = reading<acp.RequestPermissionRequest>()(
  Schema.Struct({
    toolCall: Schema.optional(Schema.Unknown),
    options: Schema.Array(
      Schema.Struct({ optionId: Schema.String, kind: Schema.String, name: optional(Schema.String) })
    )
  })
)
export type PermissionRequest = typeof PermissionRequest.Type
