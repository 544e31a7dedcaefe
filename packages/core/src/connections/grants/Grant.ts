import type { Outbound } from "@reins/machine/outbound/Outbound"
import { Data, type Effect, type Redacted } from "effect"
import type { ConnectionValidationReason } from "../ConnectionValidation.js"
import type { OpenConnection } from "../OpenConnection.js"
import { inconclusive, type Verdict } from "../Verdict.js"

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
  readonly reason: ConnectionValidationReason
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

/** The part of a kind of connection that has another service make tokens. */
export interface TokenGrant {
  /**
   * The token that the credential itself is, where nothing is asked for; undefined where the place has to be asked. A service that refuses it refuses
   * the credential.
   */
  readonly held?: (connection: OpenConnection, nowMs: number) => GrantedToken | GrantRefused | undefined
  /** Asks the place to end what the credential gives. True where the place says that it has. Nothing is asked for twice. */
  readonly end?: (connection: OpenConnection, outbound: Outbound["Type"]) => Effect.Effect<boolean>
  /** Finds the place. The connection's secrets are sent nowhere. */
  readonly find: (connection: OpenConnection, outbound: Outbound["Type"]) => Effect.Effect<TokenPlace, GrantRefused>
  /** Asks the place once. The request may use a secret up. */
  readonly ask: (
    place: TokenPlace,
    connection: OpenConnection,
    outbound: Outbound["Type"]
  ) => Effect.Effect<GrantAnswer>
}

/**
 * The name under which a credential is sealed with the authorization server that took it first. A server that names another one later gets no
 * secret sent there.
 */
export const boundIssuer = "issuer"

/** Reasons that last until somebody changes something. */
const lasting: ReadonlySet<ConnectionValidationReason> = new Set([
  "credential_refused",
  "credential_unreadable",
  "address_refused",
  "redirect",
  "tls"
])

/** The verdict of a validation that got no token. */
export const refusedGrant = ({ message, reason }: GrantRefused): Verdict =>
  lasting.has(reason)
    ? {
        state: "failed",
        health: reason === "credential_refused" ? "reauth_required" : "degraded",
        reason,
        message,
        observations: []
      }
    : inconclusive(reason, "degraded", message)
