import type {
  AccountId,
  ApiKeyId,
  MergeRequestId,
  OauthGrantId,
  SessionId,
  ShareId,
  TurnId,
  WorkspaceId
} from "./Ids.js"
import type { Scope } from "./Scope.js"

/**
 * The caller of a command or a read, who acts for an account. Its rights are those of the account, which are looked up at each call, within the
 * bounds that `access/Reach.ts` sets for each kind.
 */
export type Principal = AccountPrincipal | TurnPrincipal | AutomationPrincipal | CarePrincipal | SharePrincipal

/** The account itself, by its credentials. */
export interface AccountPrincipal {
  readonly accountId: AccountId
  readonly scopes: ReadonlyArray<Scope>
  /** The only workspace that the credentials are good for; null is every workspace of the account. */
  readonly workspaceId: WorkspaceId | null
  readonly via:
    | { readonly kind: "api_key"; readonly keyId: ApiKeyId; readonly app?: AppAccess }
    | { readonly kind: "login"; readonly loginId: string }
    /** The program that embeds the core. It speaks for the account itself. */
    | { readonly kind: "embedded" }
}

/** The access by which an app calls with a token. */
export interface AppAccess {
  readonly grantId: OauthGrantId
  /** True when the person lets the app answer agents and deliver by itself. */
  readonly isUnattended: boolean
}

/** An agent in its turn, which acts for the account that sent the message of the turn. */
export interface TurnPrincipal extends ActingPrincipal {
  readonly via: {
    readonly kind: "turn"
    readonly sessionId: SessionId
    readonly turnId: TurnId
    /** The provider of the session, which its events name. */
    readonly providerId: string
    readonly keyId: ApiKeyId | null
  }
}

/** An automation, which acts for the account that owns it. */
export interface AutomationPrincipal extends ActingPrincipal {
  readonly via: { readonly kind: "automation"; readonly automationId: string; readonly keyId: ApiKeyId | null }
}

/** The care for a merge request, which acts for the account that put it. */
export interface CarePrincipal extends ActingPrincipal {
  readonly via: { readonly kind: "care"; readonly mergeRequestId: MergeRequestId; readonly keyId: ApiKeyId | null }
}

/** Whoever has the link of a share, which acts for the account that shared the session. */
export interface SharePrincipal extends ActingPrincipal {
  readonly via: {
    readonly kind: "share"
    readonly shareId: ShareId
    readonly sessionId: SessionId
    readonly keyId: ApiKeyId | null
  }
}

/** It has no credentials of its own, so it never has the scope `admin`. `keyId` is the API key that made it act; null without one. */
interface ActingPrincipal {
  readonly accountId: AccountId
  readonly scopes: ReadonlyArray<Exclude<Scope, "admin">>
  readonly workspaceId: WorkspaceId
}

/** Whoever runs the installation, by its command line or by the program that embeds it. No account is behind it. */
export interface Operator {
  readonly via: { readonly kind: "operator" }
}
export const operator: Operator = { via: { kind: "operator" } }

/** Somebody without credentials, who registers, logs in, or comes with a link out of a mail. */
export interface Stranger {
  readonly via: { readonly kind: "stranger" }
}
export const stranger: Stranger = { via: { kind: "stranger" } }

/** Whoever gives a command. */
export type Caller = Principal | Operator | Stranger

/** True for an account by its own credentials. */
export const isAccount = (caller: Caller): caller is AccountPrincipal =>
  caller.via.kind === "api_key" || caller.via.kind === "login" || caller.via.kind === "embedded"

/** True for a caller who acts for an account. */
export const isPrincipal = (caller: Caller): caller is Principal =>
  caller.via.kind !== "operator" && caller.via.kind !== "stranger"

/** The API key that a principal calls with, or that made it act. Null for a login, and for a program that embeds the core. */
export const keyOf = ({ via }: Principal): ApiKeyId | null => ("keyId" in via ? via.keyId : null)
