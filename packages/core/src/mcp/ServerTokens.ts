import type { AccountId, WorkspaceId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { AccessTokens, type Bearer } from "../connections/AccessTokens.js"
import type { Unopenable } from "../connections/ConnectionStore.js"
import { ownerOf } from "../connections/PersonalConnections.js"
import { GrantRefused } from "../grants/Grant.js"
import { isSameServer } from "../grants/ServerUrl.js"
import { ServerFailed } from "./ServerFailed.js"

/** The failure of a server whose connection gives no token. Nothing was sent to the server. */
export const withoutToken = (failure: GrantRefused | Unopenable): ServerFailed => {
  if (failure instanceof GrantRefused)
    return new ServerFailed({
      message: `Its connection gives no token: ${failure.message}`,
      mayHaveHappened: false,
      needsAuthorization: failure.reason === "credential_refused"
    })
  return new ServerFailed({ message: sentences[failure.code], mayHaveHappened: false, needsAuthorization: true })
}

const sentences: Readonly<Record<Unopenable["code"], string>> = {
  not_found: "Its connection is gone. Name another one in the next version of the project.",
  connection_revoked: "Its connection was revoked. Name another one in the next version of the project.",
  connection_required: "Its connection is disabled. Enable the connection, or name another one.",
  credential_invalid: "The credential of its connection cannot be opened. Give the connection a new credential."
}

/**
 * Gives the tokens of a connection for one server. A connection that leads to another server by now gives none, and neither does one of another person.
 */
export const serverTokens = Effect.map(
  AccessTokens,
  (tokens) =>
    (
      workspaceId: WorkspaceId,
      connectionId: string,
      url: string,
      accountId: AccountId | undefined
    ): Effect.Effect<Bearer, ServerFailed> =>
      tokens
        .of(workspaceId, connectionId, ({ settings }) => {
          if (ownerOf(settings) !== accountId) return Effect.fail(ofSomebodyElse)
          return isSameServer(settings["server_url"] ?? "", url) ? Effect.void : Effect.fail(elsewhere)
        })
        .pipe(Effect.mapError(withoutToken))
)

const ofSomebodyElse = new GrantRefused({
  reason: "credential_refused",
  message: "it is of one person alone. Name a connection of the workspace, or have each person log in."
})

const elsewhere = new GrantRefused({
  reason: "credential_refused",
  message: "it is for another server by now. Give it a credential for this server, or name another connection."
})
