import type * as acp from "@agentclientprotocol/sdk/unstable"
import { Schema } from "effect"

// The schemas hold only the fields that are read. Every other field may be absent, unknown or new, so that no agent is refused for saying more.

/** Holds a schema to the protocol at compile time: it reads all that the protocol lets an agent say there. */
export const reading =
  <Wire>() =>
  <S extends Schema.Schema.Any>(schema: S & (Wire extends Schema.Schema.Encoded<S> ? unknown : "not all is read")): S =>
    schema

/** The requests that an agent answers, as the protocol has them. */
export interface Requests {
  readonly initialize: acp.InitializeRequest
  readonly "session/new": acp.NewSessionRequest
  readonly "session/load": acp.LoadSessionRequest
  readonly "session/resume": acp.ResumeSessionRequest
  readonly "session/prompt": acp.PromptRequest
  readonly "session/close": acp.CloseSessionRequest
  readonly "session/set_mode": acp.SetSessionModeRequest
  readonly "session/set_config_option": acp.SetSessionConfigOptionRequest
  /** An extension: the way of two agents to take something while they work. */
  readonly "_session/steering": {
    readonly sessionId: string
    readonly prompt: ReadonlyArray<acp.ContentBlock>
    /** Asks an agent that is idle to hand the words back, where it would otherwise begin to work by itself. */
    readonly _meta: { readonly steering: { readonly idleBehavior: "promptRequired" } }
  }
  readonly "session/set_title": acp.SetSessionTitleRequest
  /** It has left the protocol for the options, and there are agents that know nothing else. */
  readonly "session/set_model": { readonly sessionId: string; readonly modelId: string }
}

/** The notifications to an agent, which it does not answer. */
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
        mcpCapabilities: optional(Schema.Struct({ http: optional(Schema.Boolean) })),
        promptCapabilities: optional(
          Schema.Struct({ image: optional(Schema.Boolean), embeddedContext: optional(Schema.Boolean) })
        ),
        sessionCapabilities: optional(
          Schema.Struct({
            additionalDirectories: optional(Schema.Unknown),
            close: optional(Schema.Unknown),
            resume: optional(Schema.Unknown)
          })
        )
      })
    )
  })
)
export type InitializeResult = typeof InitializeResult.Type

const Choice = Schema.Struct({
  value: Schema.String,
  name: optional(Schema.String),
  description: optional(Schema.String)
})

/** A choice, or a group of them. */
const Choices = Schema.Union(Choice, Schema.Struct({ options: Schema.Array(Choice) }))

export const ConfigOption = Schema.Struct({
  id: Schema.String,
  name: optional(Schema.String),
  description: optional(Schema.String),
  category: optional(Schema.String),
  currentValue: Schema.optional(Schema.Unknown),
  options: optional(Schema.Array(Choices))
})
export type ConfigOption = typeof ConfigOption.Type

/** The modes of agents that have no options. */
const Modes = Schema.Struct({
  currentModeId: Schema.String,
  availableModes: optional(
    Schema.Array(
      Schema.Struct({ id: Schema.String, name: optional(Schema.String), description: optional(Schema.String) })
    )
  )
})

/** The answer to `session/new`, which has an id, and to `session/load` and `session/resume`, which may have none. */
export const SessionResult = reading<acp.NewSessionResponse | acp.LoadSessionResponse | acp.ResumeSessionResponse>()(
  Schema.Struct({
    sessionId: optional(Schema.String),
    configOptions: optional(Schema.Array(ConfigOption)),
    modes: optional(Modes),
    models: optional(
      Schema.Struct({
        currentModelId: optional(Schema.String),
        availableModels: optional(
          Schema.Array(
            Schema.Struct({
              modelId: Schema.String,
              name: optional(Schema.String),
              description: optional(Schema.String)
            })
          )
        )
      })
    )
  })
)
export type SessionResult = typeof SessionResult.Type

export const PromptResult = reading<acp.PromptResponse>()(
  Schema.Struct({ stopReason: Schema.String, usage: optional(Tokens) })
)
export type PromptResult = typeof PromptResult.Type

export const SteeringResult = Schema.Struct({ outcome: Schema.String })

export const SessionNotification = reading<acp.SessionNotification>()(
  Schema.Struct({
    sessionId: Schema.String,
    update: Schema.Struct({ sessionUpdate: Schema.String }, { key: Schema.String, value: Schema.Unknown })
  })
)

const Resource = Schema.Struct({
  uri: Schema.String,
  mimeType: optional(Schema.String),
  text: optional(Schema.String),
  blob: optional(Schema.String)
})

/** A block of content: words, media, or a file by its name. */
export const AcpContent = reading<acp.ContentBlock>()(
  Schema.Union(
    Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
    Schema.Struct({
      type: Schema.Literal("image", "audio"),
      data: Schema.String,
      mimeType: Schema.String,
      uri: optional(Schema.String)
    }),
    Schema.Struct({
      type: Schema.Literal("resource_link"),
      uri: Schema.String,
      name: Schema.String,
      mimeType: optional(Schema.String)
    }),
    Schema.Struct({ type: Schema.Literal("resource"), resource: Resource })
  )
)
export type AcpContent = typeof AcpContent.Type

export const MessageChunk = reading<acp.ContentChunk>()(
  Schema.Struct({ messageId: optional(Schema.String), content: AcpContent })
)

export const ToolContent = reading<Exclude<acp.ToolCallContent, { readonly type: "terminal" }>>()(
  Schema.Union(
    Schema.Struct({
      type: Schema.Literal("diff"),
      path: Schema.String,
      oldText: optional(Schema.String),
      newText: Schema.String
    }),
    Schema.Struct({ type: Schema.Literal("content"), content: AcpContent })
  )
)

const PlanEntries = Schema.Array(
  Schema.Struct({ content: Schema.String, priority: optional(Schema.String), status: optional(Schema.String) })
)

export const Plan = reading<acp.Plan>()(Schema.Struct({ entries: PlanEntries }))

/** A plan with an id, as entries, as a text or as a file. */
export const PlanUpdate = reading<acp.PlanUpdate>()(
  Schema.Struct({
    plan: Schema.Struct({
      planId: Schema.String,
      entries: optional(PlanEntries),
      content: optional(Schema.String),
      uri: optional(Schema.String)
    })
  })
)

export const PlanRemoved = reading<acp.PlanRemoved>()(Schema.Struct({ planId: Schema.String }))

export const Notice = reading<acp.Notice>()(
  Schema.Struct({ severity: Schema.String, title: Schema.String, description: optional(Schema.String) })
)

export const CompactionUpdate = reading<acp.CompactionUpdate>()(
  Schema.Struct({
    compactionId: Schema.String,
    status: Schema.String,
    summary: optional(Schema.Array(AcpContent)),
    error: optional(Schema.String)
  })
)

export const CompactionChunk = reading<acp.CompactionSummaryChunk>()(
  Schema.Struct({ compactionId: Schema.String, content: AcpContent })
)

export const AvailableCommands = reading<acp.AvailableCommandsUpdate>()(
  Schema.Struct({
    availableCommands: Schema.Array(
      Schema.Struct({
        name: Schema.String,
        description: optional(Schema.String),
        input: optional(Schema.Struct({ hint: optional(Schema.String) }))
      })
    )
  })
)

export const CurrentMode = reading<acp.CurrentModeUpdate>()(Schema.Struct({ currentModeId: Schema.String }))

export const ConfigOptions = reading<acp.ConfigOptionUpdate>()(
  Schema.Struct({ configOptions: Schema.Array(ConfigOption) })
)

export const SessionInfo = reading<acp.SessionInfoUpdate>()(Schema.Struct({ title: optional(Schema.String) }))

/** The shape of `tool_call`, `tool_call_update` and the tool of a permission request. An update has a part of the fields. */
export const ToolCall = reading<Omit<acp.ToolCall | acp.ToolCallUpdate, "_meta">>()(
  Schema.Struct({
    toolCallId: Schema.String,
    title: optional(Schema.String),
    kind: optional(Schema.String),
    status: optional(Schema.String),
    content: optional(Schema.Array(Schema.Unknown)),
    locations: optional(Schema.Array(Schema.Struct({ path: Schema.String, line: optional(Schema.Number) }))),
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

/** A request to be withdrawn, by the id that the agent gave it. */
export const CancelRequest = reading<acp.CancelRequestNotification>()(
  Schema.Struct({ requestId: Schema.Union(Schema.String, Schema.Number, Schema.Null) })
)

/** The input that an agent asks a person for: a form, or a page to visit. */
export const ElicitationRequest = reading<acp.CreateElicitationRequest>()(
  Schema.Struct({
    mode: Schema.String,
    message: Schema.String,
    toolCallId: Schema.optional(Schema.Unknown),
    requestedSchema: Schema.optional(Schema.Unknown),
    url: Schema.optional(Schema.Unknown),
    elicitationId: Schema.optional(Schema.Unknown)
  })
)
export type ElicitationRequest = typeof ElicitationRequest.Type

export const ElicitationCompleted = reading<acp.CompleteElicitationNotification>()(
  Schema.Struct({ elicitationId: Schema.String })
)
