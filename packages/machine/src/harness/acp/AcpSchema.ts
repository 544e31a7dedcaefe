import type * as acp from "@agentclientprotocol/sdk/unstable"
import { readEach } from "@reins/base/base/ForeignList"
import { adorns, bounded, ForeignName, foreignName } from "@reins/base/base/ForeignText"
import { Option, Schema } from "effect"

// The schemas hold only the fields that are read. Every other field may be absent, unknown or new, so that no agent is refused for saying more.
// An optional field that cannot be read counts as absent. An odd element of a list is left out.

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

const optional = <A, I>(schema: Schema.Schema<A, I>) => {
  const read = Schema.decodeUnknownOption(schema)
  return Schema.optional(
    Schema.transform(Schema.Unknown, Schema.NullOr(Schema.typeSchema(schema)), {
      strict: true,
      decode: (given) => Option.getOrNull(read(given)),
      encode: (value) => value
    })
  )
}

/** A list that is read element by element. */
const listOf = <A, I>(schema: Schema.Schema<A, I>) => {
  const read = readEach(schema)
  return Schema.transform(Schema.Array(Schema.Unknown), Schema.Array(Schema.typeSchema(schema)), {
    strict: true,
    decode: (list) => read(list).items,
    encode: (list) => list
  })
}

const longestId = 1000
const longestName = 1000

/** An id of the agent. It is a key of our rows, so it is bounded. */
const Id = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(longestId))

const Name = ForeignName(longestName)

const longestTitle = 16_000

/** The title of a call, which may be a command of several lines. On one line it could look like another command. */
const Title = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: (given) =>
    bounded(given, longestTitle)
      .split(/\r\n?|\n/)
      .map((line) => foreignName(line, longestTitle))
      .join("\n")
      .trim(),
  encode: (text) => text
})

/** A word of the protocol. It decides, so one with characters that nobody sees is none. */
const Word = Schema.String.pipe(Schema.filter((word) => word.length <= 100 && foreignName(word, 100) === word))

/** A count of tokens. An agent may count over the whole life of its process. */
const Count = Schema.Number.pipe(Schema.between(0, 1e12))

const Tokens = Schema.Struct({
  inputTokens: optional(Count),
  outputTokens: optional(Count),
  cachedReadTokens: optional(Count),
  thoughtTokens: optional(Count)
})

export const InitializeResult = reading<acp.InitializeResponse & { readonly protocolVersion: 1 }>()(
  Schema.Struct({
    protocolVersion: Schema.Literal(1),
    agentInfo: optional(Schema.Struct({ name: Name, version: optional(Name) })),
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
  value: Id,
  name: optional(Name),
  description: optional(Schema.String)
})

/** A choice, or a group of them. */
const Choices = Schema.Union(Choice, Schema.Struct({ options: listOf(Choice) }))

export const ConfigOption = Schema.Struct({
  id: Id,
  name: optional(Name),
  description: optional(Schema.String),
  category: optional(Word),
  currentValue: Schema.optional(Schema.Unknown),
  options: optional(listOf(Choices))
})
export type ConfigOption = typeof ConfigOption.Type

/** The modes of agents that have no options. */
const Modes = Schema.Struct({
  currentModeId: Id,
  availableModes: optional(
    listOf(Schema.Struct({ id: Id, name: optional(Name), description: optional(Schema.String) }))
  )
})

/** The answer to `session/new`, which has an id, and to `session/load` and `session/resume`, which may have none. */
export const SessionResult = reading<acp.NewSessionResponse | acp.LoadSessionResponse | acp.ResumeSessionResponse>()(
  Schema.Struct({
    sessionId: optional(Id),
    configOptions: optional(listOf(ConfigOption)),
    modes: optional(Modes),
    models: optional(
      Schema.Struct({
        currentModelId: optional(Id),
        availableModels: optional(
          listOf(Schema.Struct({ modelId: Id, name: optional(Name), description: optional(Schema.String) }))
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
  mimeType: optional(Name),
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
      mimeType: Name,
      uri: optional(Schema.String)
    }),
    Schema.Struct({
      type: Schema.Literal("resource_link"),
      uri: Schema.String,
      name: Name,
      mimeType: optional(Name)
    }),
    Schema.Struct({ type: Schema.Literal("resource"), resource: Resource })
  )
)
export type AcpContent = typeof AcpContent.Type

export const MessageChunk = reading<acp.ContentChunk>()(Schema.Struct({ messageId: optional(Id), content: AcpContent }))

export const ToolContent = reading<Exclude<acp.ToolCallContent, { readonly type: "terminal" }>>()(
  Schema.Union(
    Schema.Struct({
      type: Schema.Literal("diff"),
      path: Schema.String,
      oldText: optional(Schema.String),
      newText: Schema.String,
      _meta: adorns(Schema.Struct({ kind: adorns(Word) }))
    }),
    Schema.Struct({ type: Schema.Literal("content"), content: AcpContent })
  )
)

const PlanEntries = listOf(Schema.Struct({ content: Schema.String, priority: optional(Word), status: optional(Word) }))

export const Plan = reading<acp.Plan>()(Schema.Struct({ entries: PlanEntries }))

/** A plan with an id, as entries, as a text or as a file. */
export const PlanUpdate = reading<acp.PlanUpdate>()(
  Schema.Struct({
    plan: Schema.Struct({
      planId: Id,
      entries: optional(PlanEntries),
      content: optional(Schema.String),
      uri: optional(Schema.String)
    })
  })
)

export const PlanRemoved = reading<acp.PlanRemoved>()(Schema.Struct({ planId: Id }))

export const Notice = reading<acp.Notice>()(
  Schema.Struct({ severity: Word, title: ForeignName(2000), description: optional(Schema.String) })
)

export const CompactionUpdate = reading<acp.CompactionUpdate>()(
  Schema.Struct({
    compactionId: Id,
    status: Schema.String,
    summary: optional(listOf(AcpContent)),
    error: optional(Schema.String)
  })
)

export const CompactionChunk = reading<acp.CompactionSummaryChunk>()(
  Schema.Struct({ compactionId: Id, content: AcpContent })
)

export const AvailableCommands = reading<acp.AvailableCommandsUpdate>()(
  Schema.Struct({
    availableCommands: listOf(
      Schema.Struct({
        name: Word,
        description: optional(Schema.String),
        input: optional(Schema.Struct({ hint: optional(Name) }))
      })
    )
  })
)

export const CurrentMode = reading<acp.CurrentModeUpdate>()(Schema.Struct({ currentModeId: Id }))

export const ConfigOptions = reading<acp.ConfigOptionUpdate>()(Schema.Struct({ configOptions: listOf(ConfigOption) }))

export const SessionInfo = reading<acp.SessionInfoUpdate>()(Schema.Struct({ title: optional(Name) }))

/** A place in a file. */
export const ToolLocation = reading<acp.ToolCallLocation>()(
  Schema.Struct({ path: Schema.String, line: adorns(Schema.Number.pipe(Schema.between(0, 1e9))) })
)

/** The shape of `tool_call`, `tool_call_update` and the tool of a permission request. An update has a part of the fields. */
export const ToolCall = reading<Omit<acp.ToolCall | acp.ToolCallUpdate, "_meta">>()(
  Schema.Struct({
    toolCallId: Id,
    title: adorns(Title),
    name: adorns(Word),
    kind: adorns(Word),
    status: adorns(Schema.String),
    content: adorns(Schema.Array(Schema.Unknown)),
    locations: adorns(Schema.Array(Schema.Unknown)),
    rawInput: Schema.optional(Schema.Unknown),
    rawOutput: Schema.optional(Schema.Unknown),
    _meta: adorns(
      Schema.Struct({
        terminal_output_delta: optional(Schema.Struct({ data: Schema.String })),
        toolName: adorns(Schema.String)
      })
    )
  })
)
export type ToolCall = typeof ToolCall.Type

export const UsageUpdate = reading<acp.UsageUpdate>()(
  Schema.Struct({
    used: Count,
    size: Count,
    cost: optional(Schema.Struct({ amount: Count, currency: Word }))
  })
)

const PermissionOption = Schema.Struct({
  optionId: Schema.String,
  kind: Schema.String,
  name: Schema.NullOr(Schema.String)
})
type PermissionOption = typeof PermissionOption.Type
const readOptions = readEach(Schema.Struct({ optionId: Id, kind: Word, name: adorns(Name) }))

/** The options, each once. Nobody can choose among options with one id and different meanings, so those are left out. */
const distinct = (options: ReadonlyArray<PermissionOption>): ReadonlyArray<PermissionOption> =>
  options.filter(({ kind, optionId }, at) => {
    const alike = options.filter((each) => each.optionId === optionId)
    return alike.every((each) => each.kind === kind) && options.findIndex((each) => each.optionId === optionId) === at
  })

export const PermissionRequest = reading<acp.RequestPermissionRequest>()(
  Schema.Struct({
    toolCall: Schema.optional(Schema.Unknown),
    options: Schema.transform(Schema.Array(Schema.Unknown), Schema.Array(PermissionOption), {
      strict: true,
      decode: (options) => distinct(readOptions(options).items),
      encode: (options) => options
    })
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
