import { ApprovalSubject } from "@reins/base/domain/ApprovalSubject"
import { FormField, InteractionKind, InteractionOption } from "@reins/base/domain/Form"
import { Schema } from "effect"
import { AgentCommands, AgentNotice, AgentOptions, AgentPlan, AgentTitle, Compaction, Media } from "./AgentReport.js"
import { FailureReason } from "./Manifest.js"

/** A change of one file, as a tool reports it. `old_text` is null for a new file. `is_deleted` says that no file is left. */
export const HarnessDiff = Schema.Struct({
  path: Schema.String,
  old_text: Schema.NullOr(Schema.String),
  new_text: Schema.String,
  is_deleted: Schema.optionalWith(Schema.Boolean, { exact: true })
}).annotations({ identifier: "HarnessDiff" })
export type HarnessDiff = typeof HarnessDiff.Type

/** A tool that was open when its turn ended is `aborted`. */
export const ToolState = Schema.Literal("pending", "running", "done", "failed", "aborted")
export type ToolState = typeof ToolState.Type

/** The agent answered its handshake. This is always the first event. */
export const Ready = Schema.Struct({
  _tag: Schema.Literal("ready"),
  agent_name: Schema.String,
  agent_version: Schema.String
}).annotations({ identifier: "HarnessReady" })

/** The agent's own session is open. This comes once, before any output. */
export const NativeSession = Schema.Struct({
  _tag: Schema.Literal("native_session"),
  id: Schema.String,
  resumed: Schema.Boolean
}).annotations({ identifier: "HarnessNativeSession" })

/** Further words of the assistant. They are appended to those of the same `message_key`. */
export const Text = Schema.Struct({
  _tag: Schema.Literal("text"),
  message_key: Schema.String,
  text: Schema.String
}).annotations({ identifier: "HarnessText" })

/** Further words of the assistant's reasoning. They are appended to those of the same `message_key`. */
export const Reasoning = Schema.Struct({
  _tag: Schema.Literal("reasoning"),
  message_key: Schema.String,
  text: Schema.String
}).annotations({ identifier: "HarnessReasoning" })

/** Something that the assistant shows besides words. It comes once, whole. */
export const Shown = Schema.Struct({
  _tag: Schema.Literal("media"),
  media: Media
}).annotations({ identifier: "HarnessMedia" })

/** The whole present state of one tool call. A later event of the same `tool_id` replaces it. */
export const Tool = Schema.Struct({
  _tag: Schema.Literal("tool"),
  tool_id: Schema.String,
  kind: Schema.String,
  title: Schema.String,
  input: Schema.Unknown,
  state: ToolState,
  output_text: Schema.optionalWith(Schema.String, { exact: true }),
  diffs: Schema.Array(HarnessDiff),
  /** The places in files that the call is about. */
  locations: Schema.Array(Schema.Struct({ path: Schema.String, line: Schema.NullOr(Schema.Int) })),
  /** The media that the tool has given besides words. */
  media: Schema.Array(Media)
}).annotations({ identifier: "HarnessTool" })
export type Tool = typeof Tool.Type

/** A report of the agent beside its answer, whole. A later report of the same kind takes the place of the one before. */
export const Reported = Schema.Union(
  Schema.Struct({ _tag: Schema.Literal("plan"), ...AgentPlan.fields }),
  Schema.Struct({ _tag: Schema.Literal("notice"), ...AgentNotice.fields }),
  Schema.Struct({ _tag: Schema.Literal("compaction"), ...Compaction.fields }),
  Schema.Struct({ _tag: Schema.Literal("commands"), ...AgentCommands.fields }),
  Schema.Struct({ _tag: Schema.Literal("options"), ...AgentOptions.fields }),
  Schema.Struct({ _tag: Schema.Literal("title"), ...AgentTitle.fields })
).annotations({ identifier: "HarnessReported" })
export type Reported = typeof Reported.Type

/**
 * The agent waits for an answer to a question. `TurnInput.ask` gives the answer by the id of the question. The event of the tool call that the
 * question is about comes before it. `default` is the option that refuses, if there is one.
 */
export const Asked = Schema.Struct({
  _tag: Schema.Literal("asked"),
  request_id: Schema.String,
  kind: InteractionKind,
  title: Schema.String,
  description: Schema.NullOr(Schema.String),
  /** The thing that it asks leave for; null or absent for a question that asks for none, and where the driver does not tell it. */
  subject: Schema.optionalWith(Schema.NullOr(ApprovalSubject), { exact: true }),
  tool_id: Schema.NullOr(Schema.String),
  options: Schema.Array(InteractionOption),
  /** The values that a `form` asks for; null for other kinds. */
  form: Schema.NullOr(Schema.Array(FormField)),
  /** The page of a `link`; null for other kinds. */
  url: Schema.NullOr(Schema.String),
  default: Schema.NullOr(Schema.String)
}).annotations({ identifier: "HarnessAsked" })
export type Asked = typeof Asked.Type

/** The agent has changed the call that it asks about while the question is open. */
export const Revised = Schema.Struct({
  _tag: Schema.Literal("revised"),
  request_id: Schema.String,
  title: Schema.String,
  description: Schema.NullOr(Schema.String),
  subject: ApprovalSubject
}).annotations({ identifier: "HarnessRevised" })
export type Revised = typeof Revised.Type

/** The agent does not wait for the answer to the question any more. */
export const Withdrawn = Schema.Struct({
  _tag: Schema.Literal("withdrawn"),
  request_id: Schema.String
}).annotations({ identifier: "HarnessWithdrawn" })
export type Withdrawn = typeof Withdrawn.Type

/**
 * Tokens as the agent counts them, null where it counts none. `scope` says what they cover: the last model call, this turn, or the whole
 * process, which then began with the turn. `context` says only how full the context is. `cost` is counted since the native session began, over
 * all its turns. None of it is used for a turn whose model calls pass through the relay, which hears the figures of the gateway itself.
 */
export const HarnessUsage = Schema.Struct({
  _tag: Schema.Literal("usage"),
  scope: Schema.Literal("last_call", "turn", "process", "context"),
  input_tokens: Schema.NullOr(Schema.Int),
  output_tokens: Schema.NullOr(Schema.Int),
  cached_tokens: Schema.NullOr(Schema.Int),
  reasoning_tokens: Schema.NullOr(Schema.Int),
  context_used: Schema.optionalWith(Schema.Int, { exact: true }),
  context_size: Schema.optionalWith(Schema.Int, { exact: true }),
  cost: Schema.optionalWith(Schema.Struct({ amount: Schema.Number, currency: Schema.String }), { exact: true })
}).annotations({ identifier: "HarnessUsage" })
export type HarnessUsage = typeof HarnessUsage.Type

/** Output of the agent that has no known meaning, cut at 8 KiB. `tools_not_offered` says in words that the agent has not asked for its tools. `foreign_servers` names files of the workspace whose servers the agent starts by itself. `skill_name_taken` names skills of the project that the workspace has too. */
export const Diagnostic = Schema.Struct({
  _tag: Schema.Literal("diagnostic"),
  kind: Schema.Literal(
    "unparsed",
    "unknown_update",
    "unknown_message",
    "tools_not_offered",
    "foreign_servers",
    "skill_name_taken"
  ),
  line: Schema.String
}).annotations({ identifier: "HarnessDiagnostic" })
export type Diagnostic = typeof Diagnostic.Type

/** The end of a turn. `denied` says that the agent was refused what it had asked for, and ended without another word or finished tool. */
export const StopReason = Schema.Literal("completed", "cancelled", "refused", "denied", "limit")
export type StopReason = typeof StopReason.Type

/** The last event of every turn that did not fail. No process that the turn has started is left by then. */
export const Ended = Schema.Struct({
  _tag: Schema.Literal("ended"),
  stop_reason: StopReason
}).annotations({ identifier: "HarnessEnded" })

/** An event of a turn. */
export const HarnessEvent = Schema.Union(
  Ready,
  NativeSession,
  Text,
  Reasoning,
  Shown,
  Tool,
  ...Reported.members,
  Asked,
  Revised,
  Withdrawn,
  HarnessUsage,
  Diagnostic,
  Ended
).annotations({
  identifier: "HarnessEvent"
})
export type HarnessEvent = typeof HarnessEvent.Type

/**
 * A turn ended without a result. `message` says what happened and what to do next, and holds no secret. `retryable` says that the same turn may
 * succeed later without a change.
 */
export class HarnessFailure extends Schema.TaggedError<HarnessFailure>("@reins/core/harness/HarnessFailure")(
  "HarnessFailure",
  {
    reason: FailureReason,
    message: Schema.String,
    retryable: Schema.Boolean
  }
) {}
