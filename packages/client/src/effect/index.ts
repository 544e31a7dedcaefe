export type { EventFamily, StreamInput } from "../EventStream.js"
export type { Run, RunInput } from "../Following.js"
export {
  ReinsApiError,
  type ReinsClientError,
  ReinsConnectionError,
  type ReinsErrorCode,
  ReinsValidationError,
  type ValidationIssue
} from "../ReinsClientError.js"
export type { CallOptions, ClientOptions } from "../Transport.js"
export type { EffectMethod, EffectMethods } from "./EffectMethods.js"
export { type Client, make, ReinsClient } from "./ReinsClient.js"
