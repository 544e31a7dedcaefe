import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"
import { BaseUrl, type ConnectionKind, credentialOf, Secret } from "../ConnectionKind.js"
import { gatewayCapabilities, gatewayProbe } from "../GatewayProbe.js"

const defaultProtocol = "openai_chat"

const AlphaProtocol = Schema.Literal(defaultProtocol, "openai_responses", "anthropic_messages").annotations({
  description: "The wire protocol that a gateway speaks."
})

/** A gateway of models at an address that a user names, for the provider alpha. It speaks one of the protocols of that agent. */
export const alphaGateway: ConnectionKind<"alpha_gateway"> = {
  kind: "alpha_gateway",
  credential: credentialOf(
    Schema.Struct({
      base_url: field(BaseUrl, "The address of the gateway, as in `https://gateway.example/v1`."),
      api_key: field(Secret, "The key of the gateway. It goes in once and never comes back."),
      protocol: field(
        Schema.optionalWith(AlphaProtocol, { default: () => defaultProtocol }),
        "The wire protocol that the gateway speaks."
      )
    })
  ),
  settings: new Set(["base_url", "protocol"]),
  capabilities: gatewayCapabilities,
  forGit: false,
  gateway: defaultProtocol,
  probe: gatewayProbe({ gateway: defaultProtocol })
}
