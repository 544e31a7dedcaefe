import type { AccountId, ApiKeyId, WorkspaceId } from "./Ids.js"
import type { Scope } from "./Scope.js"

/** The caller of a command or a read, and the bounds of its credentials. */
export interface Principal {
  readonly accountId: AccountId
  readonly scopes: ReadonlyArray<Scope>
  /** The only workspace that the credentials are good for; null is every workspace of the account. */
  readonly workspaceId: WorkspaceId | null
  readonly via:
    | { readonly kind: "api_key"; readonly keyId: ApiKeyId }
    | { readonly kind: "login"; readonly loginId: string }
    /** The program that embeds the core. It speaks for the account itself. */
    | { readonly kind: "embedded" }
}
