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
      base_url: BaseUrl,
      api_key: Secret,
      protocol: Schema.optionalWith(GatewayProtocol, { default: () => defaultProtocol })
    })
  ),
  settings: new Set(["base_url", "protocol"]),
  capabilities: gatewayCapabilities,
  forGit: false,
  gateway: defaultProtocol,
  probe: gatewayProbe({ gateway: defaultProtocol })
}
