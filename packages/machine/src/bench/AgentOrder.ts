import { ExecutorLimits } from "@reins/base/domain/ExecutorLimits"
import { SessionId } from "@reins/base/domain/Ids"
import { NetworkAccess } from "@reins/base/domain/NetworkAccess"
import { Schema } from "effect"
import { OptionChoices } from "../harness/AgentReport.js"
import { PermissionPolicy } from "../harness/Permissions.js"
import { ToolOffer } from "../relay/mcp/ToolOffer.js"
import { AgentVariables, ExecutorBounds } from "./TreeOrder.js"
import { PromptPart } from "./TurnPrompt.js"

/** An agent that somebody wants, without a session: its provider, and where it is to run. */
export const AgentKind = Schema.Struct({
  provider: Schema.String,
  /** Null asks for the agent's program alone. */
  executor: Schema.NullOr(Schema.Struct({ backend: Schema.String, bounds: ExecutorBounds }))
})
export type AgentKind = typeof AgentKind.Type

/** The credential of an agent's model gateway. The bench lends it to the agent, which never has the key itself. */
const AgentConnection = Schema.Struct({
  kind: Schema.String,
  settings: Schema.Record({ key: Schema.String, value: Schema.String }),
  secrets: Schema.Record({ key: Schema.String, value: Schema.Redacted(Schema.String) })
})

/** Everything that the agent of a session is started with. An agent that is kept serves turns with the same order alone. */
export const AgentOrder = Schema.Struct({
  session: SessionId,
  /** The tenant, as in `TreeOrigin`. */
  workspace: Schema.String,
  repository: Schema.NullOr(Schema.String),
  /** False while the files of the session are being made. */
  isMade: Schema.Boolean,
  /** The mark of its processes. A lease has one agent at a time. */
  lease: Schema.String,
  provider: Schema.String,
  backend: Schema.String,
  /** True when it finds its directories at the paths that are the same on every machine. */
  isFixed: Schema.Boolean,
  /** The hosts that the project lets it connect to; absent where the project says nothing. */
  network: Schema.optionalWith(NetworkAccess, { exact: true }),
  environment: AgentVariables,
  limits: Schema.optionalWith(Schema.typeSchema(ExecutorLimits), { exact: true }),
  /** Null where the provider runs without a credential. */
  connection: Schema.NullOr(AgentConnection),
  model: Schema.NullOr(Schema.String),
  /** True where people answer what it asks. */
  isAnswered: Schema.Boolean,
  /** True for an agent that is to ask before it acts. */
  isGuarded: Schema.Boolean,
  /** The tools of the service that it is told of; none where it is absent. */
  tools: Schema.optionalWith(ToolOffer, { exact: true }),
  /** The digest of the instructions and skills of the project, which the ear has; absent where there are none. */
  guidance: Schema.optionalWith(Schema.String, { exact: true }),
  /** Its own session to go on with; null opens a new one. */
  native_session: Schema.NullOr(Schema.String)
})
export type AgentOrder = typeof AgentOrder.Type

/** A turn, with the start of its agent in case that none is kept for it. */
export const TurnOrder = Schema.Struct({
  agent: AgentOrder,
  /** All that the agent is told, in this order. */
  prompt: Schema.Array(PromptPart),
  options: Schema.optionalWith(Schema.typeSchema(OptionChoices), { exact: true }),
  permissions: Schema.NullOr(Schema.typeSchema(PermissionPolicy)),
  /** The time limit of the turn, from the moment that the agent is ready. */
  deadline_ms: Schema.Number
})
export type TurnOrder = typeof TurnOrder.Type

/** Something that is said to an agent while it works. */
export const SaidWord = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("steer", "interrupt"),
  prompt: Schema.Array(PromptPart)
})
export type SaidWord = typeof SaidWord.Type

/** An agent that was stopped between its turns. */
export const StoppedAgent = Schema.Struct({ session: SessionId, lease: Schema.String, provider: Schema.String })
export type StoppedAgent = typeof StoppedAgent.Type

/** The native session of an agent, as it keeps it itself. */
export const NativeRecord = Schema.Union(
  Schema.Struct({ _tag: Schema.Literal("none") }),
  /** More bytes than may be taken. */
  Schema.Struct({ _tag: Schema.Literal("large"), size: Schema.Int }),
  /** Somebody has written it while it was read. */
  Schema.Struct({ _tag: Schema.Literal("moved") }),
  Schema.Struct({
    _tag: Schema.Literal("whole"),
    /** A compressed tar. Equal contents give the same bytes. */
    archive: Schema.Uint8ArrayFromBase64,
    digest: Schema.String,
    files: Schema.Array(Schema.Struct({ path: Schema.String, size: Schema.Int }))
  })
)
export type NativeRecord = typeof NativeRecord.Type
