import { Schema } from "effect"
import { BaseUrl, type ConnectionKind, credentialOf, optional, Secret } from "../ConnectionKind.js"
import { gatewayCapabilities, gatewayProbe } from "../GatewayProbe.js"

const gateway = "openai_responses"

/** The provider beta: a key for its gateway or another one, or the login that its agent has made. */
export const beta: ConnectionKind = {
  kind: "beta",
  credential: credentialOf(
    Schema.Struct({
      base_url: optional(BaseUrl.annotations({ description: "The address of another gateway than the usual one." })),
      api_key: optional(Secret.annotations({ description: "The key of the gateway." })),
      auth_json: optional(
        Secret.annotations({ description: "The login of the agent as a file. No turn can use it yet." })
      )
    })
  ),
  settings: new Set(["base_url"]),
  capabilities: gatewayCapabilities,
  forGit: false,
  gateway,
  probe: gatewayProbe({ gateway })
}
