export type { Account, Workspace } from "@reins/core/domain/Account"
export type { ApiKey, IssuedApiKey, Scope } from "@reins/core/domain/ApiKey"
export type { ChangedFile, Changeset } from "@reins/core/domain/Changeset"
export type { Connection } from "@reins/core/domain/Connection"
export type { Delivery } from "@reins/core/domain/Delivery"
export type { EventPayload, EventType, TypedEvent } from "@reins/core/domain/Event"
export type { Interaction, InteractionOption, InteractionState } from "@reins/core/domain/Interaction"
export type { Job, Operation, OperationRef } from "@reins/core/domain/Job"
export type { ContentBlock, Message, MessageDelta, MessagePart } from "@reins/core/domain/Message"
export type { Page } from "@reins/core/domain/Page"
export type { Project, ProjectSpec, ProjectVersion } from "@reins/core/domain/Project"
export type { ErrorCategory, ErrorCode } from "@reins/core/domain/ReinsError"
export type { Session } from "@reins/core/domain/Session"
export type { Turn, TurnState } from "@reins/core/domain/Turn"
export type { EventFamily, StreamInput } from "./EventStream.js"
export type { Run, RunInput } from "./Following.js"
export { Reins, type ReinsOptions, type RequestOptions } from "./Reins.js"
export {
  ReinsApiError,
  type ReinsClientError,
  ReinsConnectionError,
  type ReinsErrorCode,
  ReinsValidationError,
  type ValidationIssue
} from "./ReinsClientError.js"
