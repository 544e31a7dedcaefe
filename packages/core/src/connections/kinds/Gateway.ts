import { field } from "@reins/base/domain/Field"
import { GatewayProtocol } from "@reins/base/domain/GatewayProtocol"
import { Schema } from "effect"
import { BaseUrl, type ConnectionKind, credentialOf, Secret } from "../ConnectionKind.js"
import { gatewayCapabilities, gatewayProbe } from "../GatewayProbe.js"

/** A gateway of models for any provider. It names its protocol, so that a provider takes only what its agent can speak with. */
export const gateway: ConnectionKind<"gateway"> = {
  kind: "gateway",
  credential: credentialOf(
    Schema.Struct({
      base_url: field(
        BaseUrl,
        "The address of the gateway with its version, as in `https://gateway.example/v1`, or `/v1beta` for `gemini`."
      ),
      api_key: field(Secret, "The key of the gateway. It goes in once and never comes back."),
      protocol: field(GatewayProtocol, "The wire protocol that the gateway speaks.")
    })
  ),
  settings: new Set(["base_url", "protocol"]),
  capabilities: gatewayCapabilities,
  forGit: false,
  gateway: "openai_chat",
  probe: gatewayProbe({ gateway: "openai_chat" })
}
