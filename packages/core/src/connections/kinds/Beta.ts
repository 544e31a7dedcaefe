import { Schema } from "effect"
import { field } from "../../domain/Field.js"
import { BaseUrl, type ConnectionKind, credentialOf, optional, Secret } from "../ConnectionKind.js"
import { gatewayCapabilities, gatewayProbe } from "../GatewayProbe.js"

const gateway = "openai_responses"

/** The provider beta. Its credential is a key for its own gateway or another one, or the login that its agent has made. */
export const beta: ConnectionKind<"beta"> = {
  kind: "beta",
  credential: credentialOf(
    Schema.Struct({
      base_url: field(optional(BaseUrl), "The address of a gateway; the usual one of the provider when absent."),
      api_key: field(optional(Secret), "A key of the gateway. It never comes back."),
      auth_json: field(
        optional(Secret),
        "The login that the agent has made, as the text of its `auth.json`, in place of a key. It never comes back."
      )
    })
  ),
  settings: new Set(["base_url"]),
  capabilities: gatewayCapabilities,
  forGit: false,
  gateway,
  probe: gatewayProbe({ gateway })
}
