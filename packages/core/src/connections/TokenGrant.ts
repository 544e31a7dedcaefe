import type { Outbound } from "@reins/machine/outbound/Outbound"
import type { Effect } from "effect"
import type { GrantAnswer, GrantedToken, GrantReason, GrantRefused, TokenPlace } from "../grants/Grant.js"
import type { OpenConnection } from "./OpenConnection.js"
import { inconclusive, type Verdict } from "./Verdict.js"

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

/** Reasons that last until somebody changes something. */
const lasting: ReadonlySet<GrantReason> = new Set([
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
