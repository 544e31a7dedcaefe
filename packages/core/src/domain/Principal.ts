import type { Scope } from "./ApiKey.js"
import type { AccountId, ApiKeyId, WorkspaceId } from "./Ids.js"

/** Who calls, and what the call may do. Every command and read of a service takes one. */
export interface Principal {
  readonly accountId: AccountId
  readonly scopes: ReadonlyArray<Scope>
  /** Set when the credentials are good for one workspace only. */
  readonly workspaceId: WorkspaceId | null
  readonly via:
    | { readonly kind: "api_key"; readonly keyId: ApiKeyId }
    | { readonly kind: "login"; readonly loginId: string }
    /** The program that embeds the core, which speaks for the account itself. */
    | { readonly kind: "embedded" }
}
