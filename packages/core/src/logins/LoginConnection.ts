import type { AccountId } from "@reins/base/domain/Ids"
import { fromMillis } from "@reins/base/domain/Timestamp"
import { Redacted } from "effect"
import { type CredentialParts, marksOf } from "../connections/CredentialParts.js"
import { ownerSetting } from "../connections/PersonalConnections.js"
import { boundIssuer, type GrantAnswer, type GrantedToken } from "../grants/Grant.js"
import type { LoginPlan, LoginSecrets } from "./ConnectionLoginStore.js"

/** A token that says that it lives longer has no end worth a date. */
const longestMs = 100 * 365 * 24 * 60 * 60_000

interface Ended {
  readonly serverUrl: string
  readonly plan: LoginPlan
  readonly secrets: LoginSecrets
  readonly found: GrantedToken
  readonly replaced: GrantAnswer["replaced"]
  readonly nowMs: number
  /** The person who has logged in. */
  readonly accountId: AccountId
}

/** The credential that a login ends with: a refresh token, or the token itself where the server gives none. */
export const credentialPartsOf = ({
  accountId,
  found,
  nowMs,
  plan,
  replaced,
  secrets,
  serverUrl
}: Ended): CredentialParts => {
  const { refresh_token } = replaced
  // A server that tells no scopes has granted those that were asked for (RFC 6749, 5.1).
  const granted = found.scope ?? plan.scopes
  const endsMs = found.toldMs !== undefined && found.toldMs < longestMs ? nowMs + found.toldMs : undefined
  const shown = {
    ...(refresh_token === undefined
      ? { access_token: Redacted.value(found.token) }
      : { refresh_token: Redacted.value(refresh_token) }),
    ...(secrets.client_secret !== undefined && { client_secret: secrets.client_secret })
  }
  return {
    settings: {
      server_url: serverUrl,
      client_id: plan.client_id,
      ...(plan.for === "person" && { [ownerSetting]: accountId }),
      ...(granted !== null && { granted_scopes: granted }),
      ...(refresh_token === undefined && endsMs !== undefined && { access_token_ends_at: fromMillis(endsMs) })
    },
    secrets: { ...shown, [boundIssuer]: plan.issuer },
    ...marksOf(shown)
  }
}
