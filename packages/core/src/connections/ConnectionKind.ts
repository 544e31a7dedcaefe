import type { GatewayProtocol } from "@reins/base/domain/GatewayProtocol"
import type { Outbound } from "@reins/machine/outbound/Outbound"
import { type Effect, ParseResult, Schema } from "effect"
import type { GrantedToken, GrantRefused } from "../grants/Grant.js"
import type { OpenConnection } from "./OpenConnection.js"
import type { TokenGrant } from "./TokenGrant.js"
import type { TokenMaker } from "./TokenMaker.js"
import type { Verdict } from "./Verdict.js"

// A kind of one's own reads connections, and says what its probe found, with these.
export type { GrantAnswer, GrantedToken, GrantRefused, TokenPlace } from "../grants/Grant.js"
export type { OpenConnection } from "./OpenConnection.js"
export { refusal } from "./ProbeRefusal.js"
export type { TokenGrant } from "./TokenGrant.js"
export type { MintedToken, MintMeans, TokenMaker, TokenWanted } from "./TokenMaker.js"
export {
  type AskProbe,
  asking,
  inconclusive,
  type ProbeRequest,
  passed,
  type Seen,
  unexpected,
  type Verdict
} from "./Verdict.js"

/** The fields of a credential, as texts. A field that was not given is absent or undefined. */
export type CredentialFields = Readonly<Record<string, string | undefined>>

/** Reads a credential. Its schema, when it has one, describes the fields in the OpenAPI document. */
export interface ReadCredential {
  /** Gives the fields as texts, with defaults, or everything that is wrong in one issue. */
  (given: unknown): Effect.Effect<CredentialFields, ParseResult.ParseIssue>
  /** The fields that it takes, each with a description. */
  readonly schema?: Schema.Schema.AnyNoContext
}

/** A kind of connection, as a plain value. It holds everything that is particular to the kind. */
export interface ConnectionKind<Name extends string = string> {
  /** The name that the API, the manifests of providers and the database use. It never changes. */
  readonly kind: Name
  /** Reads the credential that a caller gives. Make this function with `credentialOf`. */
  readonly credential: ReadCredential
  /** The fields of the credential that may be read again, as the connection's `settings`. All others are secret and sealed. */
  readonly settings: ReadonlySet<string>
  /** The capabilities that `probe` can observe. */
  readonly capabilities: ReadonlyArray<string>
  /**
   * True when git may use the connection. Its secrets are then a `token`, a `password` with the setting `username`, or a `private_key` with the
   * setting `known_hosts`. `tokens` may make the `token`. Without a forge of that kind the setting `origin` names the only place that gets them.
   */
  readonly forGit: boolean
  /** The protocol of the gateway when the settings name none. Null when the credential belongs to no gateway of models. */
  readonly gateway: GatewayProtocol | null
  /**
   * Uses the credential with the smallest request that shows if it is accepted. The verdict quotes no answer, because an answer may hold a
   * secret.
   */
  readonly probe: (connection: OpenConnection, means: ProbeMeans) => Effect.Effect<Verdict>
  /** Makes tokens of the forge, for a kind whose credential is a key. Absent for a kind whose secret is used as it is. */
  readonly tokens?: TokenMaker
  /** Has an authorization server make access tokens. Absent for a kind whose secret is used as it is. */
  readonly grant?: TokenGrant
}

/** The means that a probe may use. */
export interface ProbeMeans {
  /** The guarded way out of the service. */
  readonly outbound: Outbound["Type"]
  /** The base URL that the manifest of the provider names, for a connection without a `base_url`. */
  readonly defaultBaseUrl: string | undefined
  /** An access token that is made anew by `grant`. It dies for a kind without one. */
  readonly freshToken: Effect.Effect<GrantedToken, GrantRefused>
}

/** Reads credentials by a schema. One issue holds all faults of a credential. */
export const credentialOf = <A extends CredentialFields, I>(schema: Schema.Schema<A, I>): ReadCredential =>
  Object.assign(ParseResult.decodeUnknown(schema, { errors: "all" }), { schema })

/** An http or https URL of at most 2,000 characters, without credentials in it. */
export const BaseUrl = Schema.String.pipe(
  Schema.maxLength(2000),
  Schema.filter((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && new URL(url).username === "", {
    message: () => "Input should be an http or https URL without credentials in it"
  })
)

/** The origin of servers: one of the protocols, a host, and a port where it is not the usual one, without a path. */
export const Origin = (...protocols: ReadonlyArray<"https:" | "http:" | "ssh:">) =>
  Schema.String.pipe(
    Schema.maxLength(2000),
    Schema.filter((text) => isOrigin(protocols, text), {
      message: () => `Input should be an origin, as in ${protocols[0]}//git.example, without a name, a path or a query`
    })
  )

const isOrigin = (protocols: ReadonlyArray<string>, text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hash, hostname, password, pathname, protocol, search, username } = new URL(text)
  const isBare = [username, password, search, hash].every((part) => part === "") && /^\/?$/.test(pathname)
  return protocols.some((known) => known === protocol) && hostname !== "" && isBare
}

/** A secret of at most 20,000 characters. */
export const Secret = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(20_000))

/** A field that may be absent or null. */
export const optionalField = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.optionalWith(schema, { exact: true, nullable: true })
