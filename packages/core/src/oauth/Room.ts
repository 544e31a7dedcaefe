import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { Effect } from "effect"
import { Authorizations } from "./Authorizations.js"
import { OauthClients } from "./OauthClients.js"
import { OauthGrants } from "./OauthGrants.js"
import { OauthStore } from "./OauthStore.js"
import { OauthTokens } from "./OauthTokens.js"
import * as operations from "./Operations.js"

/** Apps that people let in by OAuth 2.1: who they are, what they were given, and their codes and tokens. */
export const oauth = {
  name: "oauth",
  layer: oneByOne(OauthGrants.layer, OauthTokens.layer).pipe(
    onTopOf(Authorizations.layer),
    onTopOf(OauthClients.layer),
    onTopOf(OauthStore.layer)
  ),
  tables: ["oauth_clients", "oauth_grants"],
  sweeps: { apps: Effect.map(OauthStore, ({ purge }) => purge) },
  operations
} as const
