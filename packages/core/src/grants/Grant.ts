import { Data, type Redacted } from "effect"

/** Why there is no token. Each is a reason of a validation too. */
export type GrantReason =
  | "credential_refused"
  | "credential_unreadable"
  | "address_refused"
  | "redirect"
  | "tls"
  | "unreachable"
  | "timeout"
  | "rate_limited"
  | "upstream_error"
  | "unexpected_answer"

/** The client that asks for a token. */
export interface GrantClient {
  /** The fields of its credential that are no secret. */
  readonly settings: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, Redacted.Redacted>>
}

/** An access token, which is held in the memory of this process alone. */
export interface GrantedToken {
  /** Goes with requests as a bearer token: 1 to 16,384 characters that headers can have. */
  readonly token: Redacted.Redacted
  /** The time for which it is good from the request on, in milliseconds; 0 for one that is used at once or never. */
  readonly lifeMs: number
  /** The time that its place has told, in milliseconds; absent where it has told none, as a token that does not end. */
  readonly toldMs?: number | undefined
  /** The scopes that its place has told; absent where it has told none. */
  readonly scope?: string | undefined
}

/** There is no token. The message is a sentence for people, and quotes no answer. */
export class GrantRefused extends Data.TaggedError("GrantRefused")<{
  /** Decides the verdict of a validation: `credential_refused` stops further requests with the credential. */
  readonly reason: GrantReason
  /** Says what to do next, without a secret. */
  readonly message: string
}> {}

/** The place that gives tokens, as it was found. */
export interface TokenPlace {
  /** The address that is asked for tokens. */
  readonly endpoint: URL
  /** The name of the server that the tokens are for. */
  readonly resource: string
  /** The ways in which a client may say who it is; undefined where nobody tells. */
  readonly methods: ReadonlyArray<string> | undefined
  /** The authorization server by its own name; undefined where the connection names the endpoint itself. */
  readonly issuer: string | undefined
  /** The address that ends tokens; absent where nobody tells one. */
  readonly revocation?: URL | undefined
}

/** The answer of a place to one request for a token. */
export interface GrantAnswer {
  /** The token, or the refusal. */
  readonly found: GrantedToken | GrantRefused
  /** Secrets that take the place of those of the connection, also where the token itself is of no use. */
  readonly replaced: Readonly<Record<string, Redacted.Redacted>>
}

/**
 * The name under which a credential is sealed with the authorization server that took it first. A server that names another one later gets no
 * secret sent there.
 */
export const boundIssuer = "issuer"

/** True for scopes as RFC 6749 writes them, with one space between two. */
export const isScopeList = (text: string): boolean =>
  text.length <= 2000 && /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(text)
