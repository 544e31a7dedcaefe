import { clientDocument, clientDocumentPath } from "@reins/core/logins/LoginAddresses"
import { appScopes } from "@reins/core/oauth/OauthGrant"
import { Effect } from "effect"
import { Reply } from "../Reply.js"
import type { Route } from "../Route.js"

/** The facts that apps read of this server: its resource (RFC 9728), and its authorization server (RFC 8414), which is the server itself. */
export const metadataRoutes = (issuer: string, resource: string): ReadonlyArray<Route> => {
  const ofResource = {
    resource,
    resource_name: "Reins",
    authorization_servers: [issuer],
    scopes_supported: appScopes,
    bearer_methods_supported: ["header"]
  }
  const ofServer = {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    scopes_supported: appScopes,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true
  }
  const ownClient = clientDocument(issuer)
  // Clients put the path of a resource behind the name of a document.
  return [
    ...["", "/mcp"].flatMap((suffix) => [
      read(`/.well-known/oauth-protected-resource${suffix}`, ofResource),
      read(`/.well-known/oauth-authorization-server${suffix}`, ofServer)
    ]),
    // This installation as a client of other servers. One that nobody else reaches has no document.
    ...(ownClient === undefined ? [] : [read(clientDocumentPath, ownClient)])
  ]
}

const read = (path: Route["path"], document: object): Route => {
  const text = JSON.stringify(document)
  return { method: "GET", path, mutates: false, answer: () => Effect.succeed(Reply.jsonText(200, text)) }
}
