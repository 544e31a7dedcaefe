import { Data } from "effect"

/** The errors of OAuth 2.1 (RFC 6749, 5.2), registration (RFC 7591) and resource indicators (RFC 8707) that this server answers with. */
export type OauthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_client_metadata"
  | "invalid_grant"
  | "invalid_redirect_uri"
  | "invalid_scope"
  | "invalid_target"
  | "temporarily_unavailable"
  | "unsupported_grant_type"
  | "unsupported_response_type"

/** A request of an app that is not granted. The sentence holds nothing that is secret. */
export class OauthRefused extends Data.TaggedError("OauthRefused")<{
  readonly error: OauthErrorCode
  /** One sentence, in the characters that RFC 6749 allows. */
  readonly description: string
  readonly retryAfterSeconds?: number
}> {}
