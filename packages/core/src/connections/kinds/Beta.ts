import { Schema } from "effect"
import { BaseUrl, type ConnectionKind, credentialOf, optional, Secret } from "../ConnectionKind.js"
import { gatewayCapabilities, gatewayProbe } from "../GatewayProbe.js"

const gateway = "openai_responses"

/** The provider beta: a key for its gateway or another one, or the login that its agent has made. */
export const beta: ConnectionKind = {
  kind: "beta",
  credential: credentialOf(
    Schema.Struct({ base_url: optional(BaseUrl), api_key: optional(Secret), auth_json: optional(Secret) })
  ),
  settings: new Set(["base_url"]),
  capabilities: gatewayCapabilities,
  forGit: false,
  gateway,
  probe: gatewayProbe({ gateway })
}
