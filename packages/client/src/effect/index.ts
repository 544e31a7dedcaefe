export type {
  EventFamily,
  EventPayload,
  EventType,
  StreamInput,
  TypedEvent,
  WorkspaceEventType,
  WorkspaceStreamInput
} from "../EventStream.js"
export type { JobLike, MergeRequestLike, RunResult, TurnLike } from "../Following.js"
export { type FunctionCall, later } from "../Functions.js"
export type * from "../generated/Resources.js"
export type { Page } from "../List.js"
export {
  type ErrorCategory,
  type ErrorCode,
  ReinsApiError,
  type ReinsClientError,
  ReinsConnectionError,
  type ReinsErrorCode,
  ReinsValidationError,
  type ValidationIssue
} from "../ReinsClientError.js"
export type { EffectFunction, EffectFunctions } from "./EffectFunctions.js"
export type { CallOptions, EffectMethod, EffectMethods } from "./EffectMethods.js"
export { type Client, type ClientOptions, items, make, ReinsClient, type Run, type RunInput } from "./ReinsClient.js"
