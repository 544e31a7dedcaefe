import type { Principal } from "@reins/base/domain/Principal"
import * as Embedded from "@reins/core/Embedded"
import { ConnectionLogins } from "@reins/core/logins/ConnectionLogins"
import type { ConnectionLoginInput, LoginAnswer } from "@reins/core/logins/LoginsApi"
import { authorizationServer } from "@reins/testing/mcp/AuthorizationServer"
import { mcpServer } from "@reins/testing/mcp/McpServer"
import { Effect } from "effect"
import { key } from "../mcp/ServerAgent.js"

/** A server that lets people in by an authorization server, and a person. */
export const lab = Effect.gen(function* () {
  const issuer = yield* authorizationServer(key)
  const server = yield* mcpServer(issuer.good)
  server.authorization = [issuer.url]
  const { principal, workspaceId } = yield* Embedded.owner
  const logins = yield* ConnectionLogins
  const begin = ({ connection_id, ...input }: ConnectionLoginInput = {}, by: Principal = principal) =>
    logins.create(
      by,
      workspaceId,
      connection_id === undefined ? { server_url: server.url, ...input } : { connection_id, ...input }
    )
  return { issuer, server, principal, workspaceId, logins, begin }
})

export type Lab = Effect.Effect.Success<typeof lab>

/** The answer that a browser brings back from an authorization server. */
export const brought = (back: URL): LoginAnswer => {
  const of = (name: string) => back.searchParams.get(name) ?? undefined
  const [code, error, iss] = [of("code"), of("error"), of("iss")]
  return {
    state: of("state") ?? "",
    ...(code !== undefined && { code }),
    ...(error !== undefined && { error }),
    ...(iss !== undefined && { iss })
  }
}

/** A whole login of the person. */
export const loggedIn = (
  { begin, issuer, logins, principal: owner }: Lab,
  input: ConnectionLoginInput = {},
  principal: Principal = owner
) =>
  Effect.gen(function* () {
    const { authorize_url, login } = yield* begin(input, principal)
    const ended = yield* logins.answer(principal, login.id, brought(issuer.allow(authorize_url)))
    return { begun: login, ended, address: new URL(authorize_url) }
  })
