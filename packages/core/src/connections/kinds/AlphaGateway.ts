import { Schema } from "effect"
import { GatewayProtocol } from "../../domain/Connection.js"
import { BaseUrl, type ConnectionKind, credentialOf, Secret } from "../ConnectionKind.js"
import { gatewayCapabilities, gatewayProbe } from "../GatewayProbe.js"

const defaultProtocol = "openai_chat"

/** A gateway of models that a user names, which speaks one of the known protocols. */
export const alphaGateway: ConnectionKind = {
  kind: "alpha_gateway",
  credential: credentialOf(
    Schema.Struct({
      base_url: BaseUrl.annotations({ description: "The address of the gateway, below which it has `/models`." }),
      api_key: Secret.annotations({ description: "The key of the gateway." }),
      protocol: Schema.optionalWith(
        GatewayProtocol.annotations({
          description: "The protocol that the gateway speaks; `openai_chat` when left out."
        }),
        { default: () => defaultProtocol }
      )
    })
  ),
  settings: new Set(["base_url", "protocol"]),
  capabilities: gatewayCapabilities,
  forGit: false,
  gateway: defaultProtocol,
  probe: gatewayProbe({ gateway: defaultProtocol })
}
