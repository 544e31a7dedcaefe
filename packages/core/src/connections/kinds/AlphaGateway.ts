import { Schema } from "effect"
import { GatewayProtocol } from "../../domain/Connection.js"
import { field } from "../../domain/Field.js"
import { BaseUrl, type ConnectionKind, credentialOf, Secret } from "../ConnectionKind.js"
import { gatewayCapabilities, gatewayProbe } from "../GatewayProbe.js"

const defaultProtocol = "openai_chat"

/** A gateway of models at an address that a user names. It speaks one of the known protocols. */
export const alphaGateway: ConnectionKind<"alpha_gateway"> = {
  kind: "alpha_gateway",
  credential: credentialOf(
    Schema.Struct({
      base_url: field(BaseUrl, "The address of the gateway, as in `https://gateway.example/v1`."),
      api_key: field(Secret, "The key of the gateway. It goes in once and never comes back."),
      protocol: field(
        Schema.optionalWith(GatewayProtocol, { default: () => defaultProtocol }),
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
