import type * as Mcp from "@modelcontextprotocol/client"
import { Effect, Redacted, Runtime } from "effect"
import type { Bearer } from "../connections/AccessTokens.js"
import { boundIssuer } from "../grants/Grant.js"
import { type Blank, blankSecrets } from "./BlankSecrets.js"
import { refusedToken, TokenRefused } from "./ServerFailure.js"
import { withoutToken } from "./ServerTokens.js"

/** The tokens of one link to a server. */
export interface ServerKeys {
  /** Gives the library a token for each request, and another one where the server has refused that with 401. */
  readonly provider: Mcp.AuthProvider
  /** Blanks the credential and each token of the link. */
  readonly blank: () => Blank
}

/** The tokens of a link, from the first one. The library sends a request again after a 401 alone, and once. */
export const serverKeys = (bearer: Bearer): Effect.Effect<ServerKeys> =>
  Effect.map(Effect.runtime(), (runtime) => {
    const { [boundIssuer]: _, ...secrets } = bearer.connection.secrets
    const seen = [...Object.values(secrets), bearer.token]
    let { isNew, token } = bearer
    return {
      provider: {
        token: async () => Redacted.value(token),
        onUnauthorized: async () => {
          if (isNew) throw new TokenRefused(refusedToken)
          const renewed = await Runtime.runPromise(runtime)(Effect.either(bearer.renew(token)))
          if (renewed._tag === "Left") throw new TokenRefused(withoutToken(renewed.left).message)
          token = renewed.right
          isNew = true
          seen.push(token)
        }
      },
      blank: () => blankSecrets(seen)
    }
  })
