import { field } from "@reins/base/domain/Field"
import { GivenTimestamp, now, Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { Effect, Redacted, Schema } from "effect"
import { type GrantedToken, GrantRefused } from "../../grants/Grant.js"
import { type ConnectionKind, credentialOf, optionalField, type ProbeMeans, Secret } from "../ConnectionKind.js"
import type { OpenConnection } from "../OpenConnection.js"
import { refusedGrant } from "../TokenGrant.js"
import { asking, passed, unexpected } from "../Verdict.js"

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

const Scopes = Schema.String.pipe(
  Schema.maxLength(2000),
  Schema.pattern(/^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/)
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
    optionalField(Scopes),
    "The scopes to ask for, with a space between them; those that the authorization server chooses when absent."
  ),
  granted_scopes: field(
    optionalField(Scopes),
    "The scopes that a login was granted. They are shown, and a new login asks for them again."
  ),
  client_secret: field(
    optionalField(Secret),
    "The secret of the client; absent for a public client, which has a refresh token."
  ),
  refresh_token: field(
    optionalField(Secret),
    "A refresh token. The connection keeps each new one that takes its place. When absent, the client asks for tokens in its own name."
  ),
  access_token: field(
    optionalField(Secret),
    "A token of a server that gives no refresh tokens. It goes to the server as it is, until it ends or is refused."
  ),
  access_token_ends_at: field(
    optionalField(GivenTimestamp),
    "The time at which `access_token` ends; absent where nobody has told it."
  )
}).pipe(
  Schema.filter(
    ({ access_token, client_secret, refresh_token }) =>
      [access_token, client_secret, refresh_token].some((given) => given !== undefined),
    { message: () => "Input should have a client_secret, a refresh_token or an access_token" }
  )
)

/** The longest time for which a token that nothing renews is held, in milliseconds. */
const heldMs = 60 * 60_000

/** The token of a server that gives no refresh tokens. */
const heldToken = ({ secrets, settings }: OpenConnection, nowMs: number): GrantedToken | GrantRefused | undefined => {
  const token = secrets["access_token"]
  if (token === undefined || secrets["refresh_token"] !== undefined) return undefined
  const { access_token_ends_at: endsAt } = settings
  const leftMs = endsAt === undefined ? heldMs : toMillis(Timestamp.make(endsAt)) - nowMs
  return leftMs > 0
    ? { token, lifeMs: Math.min(leftMs, heldMs) }
    : new GrantRefused({
        reason: "credential_refused",
        message: `Its token has ended at ${endsAt}, and the authorization server gave none to renew it with. Log in again.`
      })
}

/** Asks the server itself whether it takes a token, since no authorization server is asked for that one. */
const probeHeld = Effect.fnUntraced(function* (
  { settings }: OpenConnection,
  token: Redacted.Redacted,
  { outbound }: ProbeMeans
) {
  const at = yield* now
  const headers = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    authorization: `Bearer ${Redacted.value(token)}`
  }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
  const request = {
    url: settings["server_url"] ?? "",
    name: "POST to the server",
    request: { method: "POST", headers, body }
  }
  return yield* Effect.match(asking(outbound)(request), {
    onFailure: (verdict) => verdict,
    onSuccess: ({ answer, evidence }) => {
      if (answer.status === 401 || answer.status === 403)
        return refusedGrant(
          new GrantRefused({
            reason: "credential_refused",
            message: `The server refuses the token (${answer.status}). Log in again.`
          })
        )
      // A server that wants a session first has taken the token all the same.
      return answer.status < 500 ? passed(at, evidence, []) : unexpected(evidence)
    }
  })
})

/** OAuth with a server of the Model Context Protocol. The service fetches a token from the credential when a server is asked. */
export const mcpOauth: ConnectionKind<"mcp_oauth"> = {
  kind: "mcp_oauth",
  credential: credentialOf(Credential),
  settings: new Set(["server_url", "token_endpoint", "client_id", "scopes", "granted_scopes", "access_token_ends_at"]),
  capabilities: ["authentication"],
  forGit: false,
  gateway: null,
  probe: (connection, means) =>
    Effect.gen(function* () {
      const at = yield* now
      const held = heldToken(connection, toMillis(at))
      if (held instanceof GrantRefused) return refusedGrant(held)
      if (held !== undefined) return yield* probeHeld(connection, held.token, means)
      return yield* Effect.match(means.freshToken, {
        onFailure: refusedGrant,
        onSuccess: () => passed(at, "POST to the token endpoint answered 200", [])
      })
    }),
  grant: {
    held: heldToken,
    end: (connection, outbound) =>
      Effect.gen(function* () {
        const { findPlace } = yield* places
        const { endGranted } = yield* requests
        const place = yield* findPlace(connection, outbound)
        return yield* endGranted(place, connection, outbound)
      }).pipe(Effect.orElseSucceed(() => false)),
    find: (connection, outbound) => Effect.flatMap(places, ({ findPlace }) => findPlace(connection, outbound)),
    ask: (place, connection, outbound) =>
      Effect.flatMap(requests, ({ askPlace }) => askPlace(place, connection, outbound))
  }
}

/** Loaded with the first use of such a connection. */
const places = Effect.promise(() => import("../../grants/TokenPlaces.js"))
const requests = Effect.promise(() => import("../../grants/TokenRequest.js"))
