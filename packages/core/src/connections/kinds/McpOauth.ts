import { field } from "@reins/base/domain/Field"
import { now } from "@reins/base/domain/Timestamp"
import { Effect, Schema } from "effect"
import { type ConnectionKind, credentialOf, optionalField, Secret } from "../ConnectionKind.js"
import { refusedGrant } from "../grants/Grant.js"
import { passed } from "../Verdict.js"

const isAddress = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hash, password, protocol, username } = new URL(text)
  return /^https?:$/.test(protocol) && hash === "" && password === "" && username === ""
}

const Address = Schema.String.pipe(
  Schema.maxLength(2000),
  Schema.filter(isAddress, {
    message: () => "Input should be an http or https URL without credentials and without a fragment"
  })
)

const Credential = Schema.Struct({
  server_url: field(
    Address,
    "The address of the server, as projects name it: `https://mcp.example/mcp`. Tokens are sent there alone."
  ),
  token_endpoint: field(
    optionalField(Address),
    "The https address that gives tokens. When absent, the metadata of the server and of its authorization server tell it."
  ),
  client_id: field(
    Schema.String.pipe(Schema.pattern(/^[\x21-\x7e]{1,2000}$/)),
    "The id of the client, as the authorization server knows it."
  ),
  scopes: field(
    optionalField(
      Schema.String.pipe(
        Schema.maxLength(2000),
        Schema.pattern(/^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/)
      )
    ),
    "The scopes to ask for, with a space between them; those that the authorization server chooses when absent."
  ),
  client_secret: field(
    optionalField(Secret),
    "The secret of the client; absent for a public client, which has a refresh token."
  ),
  refresh_token: field(
    optionalField(Secret),
    "A refresh token. The connection keeps each new one that takes its place. When absent, the client asks for tokens in its own name."
  )
}).pipe(
  Schema.filter(({ client_secret, refresh_token }) => client_secret !== undefined || refresh_token !== undefined, {
    message: () => "Input should have a client_secret, a refresh_token, or both"
  })
)

/** OAuth with a server of the Model Context Protocol. The service fetches a token from the credential when a server is asked. */
export const mcpOauth: ConnectionKind<"mcp_oauth"> = {
  kind: "mcp_oauth",
  credential: credentialOf(Credential),
  settings: new Set(["server_url", "token_endpoint", "client_id", "scopes"]),
  capabilities: ["authentication"],
  forGit: false,
  gateway: null,
  probe: (_, { freshToken }) =>
    Effect.gen(function* () {
      const at = yield* now
      return yield* Effect.match(freshToken, {
        onFailure: refusedGrant,
        onSuccess: () => passed(at, "POST to the token endpoint answered 200", [])
      })
    }),
  grant: {
    find: (connection, outbound) => Effect.flatMap(places, ({ findPlace }) => findPlace(connection, outbound)),
    ask: (place, connection, outbound) =>
      Effect.flatMap(requests, ({ askPlace }) => askPlace(place, connection, outbound))
  }
}

/** Loaded with the first use of such a connection. */
const places = Effect.promise(() => import("../grants/TokenPlaces.js"))
const requests = Effect.promise(() => import("../grants/TokenRequest.js"))
