import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"
import { BaseUrl, type ConnectionKind, credentialOf, optionalField, Secret } from "../ConnectionKind.js"
import { gatewayCapabilities, gatewayProbe } from "../GatewayProbe.js"

const gateway = "openai_responses"

/**
 * The login of a subscription. It is refused, because the agent replaces it while it works and the service does not take the new one back: the
 * stored one would soon be good for nothing.
 */
const Login = Schema.String.pipe(
  Schema.filter(() => false, {
    message: () => "The login of a subscription cannot be stored. Give an api_key of the gateway instead"
  })
)

/** The provider beta. Its credential is a key for its own gateway or another one. */
export const beta: ConnectionKind<"beta"> = {
  kind: "beta",
  credential: credentialOf(
    Schema.Struct({
      base_url: field(optionalField(BaseUrl), "The address of a gateway; the usual one of the provider when absent."),
      api_key: field(Secret, "A key of the gateway. It goes in once and never comes back."),
      auth_json: field(
        optionalField(Login),
        "Refused with the reason: the login of a subscription, as the text of the agent's `auth.json`."
      )
    })
  ),
  settings: new Set(["base_url"]),
  capabilities: gatewayCapabilities,
  forGit: false,
  gateway,
  probe: gatewayProbe({ gateway })
}
