import { createPrivateKey } from "node:crypto"
import { field } from "@reins/base/domain/Field"
import type { ForgeKind } from "@reins/machine/forge/Forge"
import { forgeHost } from "@reins/machine/forge/ForgeHost"
import { Effect, Schema } from "effect"
import { BaseUrl, type ConnectionKind, credentialOf, optionalField } from "../ConnectionKind.js"

/** The key of an app, as a PEM text of PKCS#1 or PKCS#8. Line breaks may stand as `\n`, as in a variable of an environment. */
const AppKey = Schema.String.pipe(
  Schema.maxLength(20_000),
  Schema.filter((text) => isAppKey(text), {
    message: () =>
      "Input should be an RSA private key in PEM without a passphrase, as the forge gives it: the whole file, from its BEGIN to its END line"
  })
)

const isAppKey = (text: string): boolean => {
  try {
    return createPrivateKey(text.replaceAll("\\n", "\n")).asymmetricKeyType === "rsa"
  } catch {
    return false
  }
}

/**
 * The kind of connection to an app of a forge like GitHub. The credential is the key of the app. The service makes a token from it for each
 * repository.
 */
export const gitHubApp = (forge: ForgeKind, kind: string): ConnectionKind => ({
  kind,
  credential: credentialOf(
    Schema.Struct({
      base_url: field(
        optionalField(BaseUrl),
        "The address of the forge, as in `https://github.example`; the public one when absent."
      ),
      client_id: field(
        Schema.String.pipe(Schema.pattern(/^[\w.-]{1,100}$/)),
        "The client id of the app, as its settings show it; the number of the app works too."
      ),
      installation_id: field(
        optionalField(Schema.String.pipe(Schema.pattern(/^[1-9]\d{0,19}$/))),
        "The number of the only installation to use, as a text; the one that has the repository when absent."
      ),
      private_key: field(
        AppKey,
        "The private key of the app, as the text of its `.pem` file. It never comes back, and tokens that are made from it are not stored."
      )
    })
  ),
  settings: new Set(["base_url", "client_id", "installation_id"]),
  capabilities: ["authentication"],
  forGit: true,
  gateway: null,
  probe: (connection, { outbound }) =>
    Effect.flatMap(appTokens, ({ probeApp }) =>
      probeApp(connection, { outbound, host: forgeHost(forge, connection.settings["base_url"]) })
    ),
  tokens: {
    mint: (connection, wanted, means) =>
      Effect.flatMap(appTokens, ({ mintToken }) => mintToken(connection, wanted, means)),
    login: (connection, means) => Effect.flatMap(appTokens, ({ loginOfApp }) => loginOfApp(connection, means))
  }
})

/** Loaded with the first use of an app. */
const appTokens = Effect.promise(() => import("./AppTokens.js"))
