import type { Methods } from "./generated/Methods.js"
import type { ApiKey, Interaction, Turn } from "./generated/Resources.js"

export {
  type AskedCall,
  type AskedEdit,
  askedCall,
  askedText,
  inputOfDescription
} from "./AskedCall.js"
export { careSentence, conditionsSentence, unmetPhrases } from "./CareSentence.js"
export { commentText } from "./CommentText.js"
export type {
  EventFamily,
  EventPayload,
  EventType,
  StreamInput,
  TypedEvent,
  WorkspaceEventType,
  WorkspaceStreamInput
} from "./EventStream.js"
export type { JobLike, MergeRequestLike, RunInput, RunResult, TurnLike } from "./Following.js"
export {
  type CallableFunction,
  type CallableFunctions,
  type FunctionCall,
  functionsOf,
  later,
  type ServeToolsInput
} from "./Functions.js"
export type * from "./generated/Methods.js"
export type * from "./generated/Resources.js"
export { type HostToken, hostToken, type SavedToken, saveHostToken, type TokenRepository } from "./HostToken.js"
export type { List, Page } from "./List.js"
export { type GetExport, Reins, type ReinsOptions } from "./Reins.js"
export {
  type ErrorCategory,
  type ErrorCode,
  ReinsApiError,
  type ReinsClientError,
  ReinsConnectionError,
  type ReinsErrorCode,
  ReinsValidationError,
  type ValidationIssue
} from "./ReinsClientError.js"
export { type RepositoryAddress, repositoryAddress } from "./RepositoryAddress.js"
export type { Run } from "./Run.js"
export {
  type ChangedLine,
  changedLines,
  editHeading,
  gapSentence,
  nothingTold,
  shownName,
  subjectText
} from "./SubjectText.js"
export { ToolCalls } from "./ToolCalls.js"
export type { MutationOptions, RequestOptions } from "./Transport.js"

/** The right of an API key. */
export type Scope = ApiKey["scopes"][number]
/** An API key with its secret, as it is shown once. */
export type IssuedApiKey = Awaited<ReturnType<Methods["apiKeys"]["create"]>>
/** An answer that an interaction can be given. */
export type InteractionOption = Interaction["options"][number]
/** Where an interaction stands. */
export type InteractionState = Interaction["state"]
/** Where a turn stands. */
export type TurnState = Turn["state"]
export { escapeUnseen } from "./UnseenCharacters.js"
export { waitingSentence } from "./WaitingSentence.js"
export {
  type VerifyOptions,
  type WebhookEventMessage,
  type WebhookHeaders,
  type WebhookMessage,
  type WebhookTestMessage,
  WebhookVerificationError,
  webhooks
} from "./Webhooks.js"
export { workSentence } from "./WorkSentence.js"
