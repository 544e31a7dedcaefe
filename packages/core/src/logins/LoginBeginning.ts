import { CoreConfig } from "@reins/base/base/CoreConfig"
import { type AccountId, ConnectionLoginId, newId, WorkspaceId } from "@reins/base/domain/Ids"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { fromNow, now } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Effect, ParseResult, Redacted, Schema } from "effect"
import { type ConnectionRow, revoked } from "../connections/ConnectionRow.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import { ownerOf, personalConnections } from "../connections/PersonalConnections.js"
import { type GrantRefused, isScopeList } from "../grants/Grant.js"
import { isSameServer } from "../grants/ServerUrl.js"
import type { LoginReach } from "./ConnectionLogin.js"
import { type ConnectionLoginRow, ConnectionLoginStore } from "./ConnectionLoginStore.js"
import { pageRedirect } from "./LoginAddresses.js"
import type { ClientWish } from "./LoginClient.js"
import type { ConnectionLoginInput } from "./LoginsApi.js"

/** A login waits so long for its browser. */
const lifeMs = 10 * 60_000

/** The most logins of one account that wait at once. Each may have registered a client somewhere. */
const mostPending = 20

/** Gives the function that finds out how a person can log in. It gives the row to be, and the address for the browser. */
export const loginBeginning = Effect.gen(function* () {
  const { publicUrl } = yield* CoreConfig
  const connections = yield* ConnectionStore
  const outbound = yield* Outbound
  const store = yield* ConnectionLoginStore
  const personal = yield* personalConnections

  /** A connection that gets a new credential. */
  const renewed = Effect.fnUntraced(function* (workspaceId: string, connectionId: string) {
    const row = yield* connections.find(connectionId)
    if (row === undefined || row.workspace_id !== workspaceId) return yield* notFound()
    if (row.kind !== "mcp_oauth")
      return yield* wrongField("connection_id", connectionId, "the connection is of another kind than mcp_oauth")
    return row.state === "revoked" ? yield* revoked(row.id) : row
  })

  return Effect.fnUntraced(function* (accountId: AccountId, workspaceId: string, input: ConnectionLoginInput) {
    const { connection_id, scopes } = input
    const given = connection_id === undefined ? undefined : yield* renewed(workspaceId, connection_id)
    const serverUrl = yield* serverUrlOf(input, given)
    const reach = yield* reachOf(input, given, accountId)
    // A person has one connection to a server, which a new login renews.
    const own =
      given === undefined && reach === "person"
        ? yield* personal(WorkspaceId.make(workspaceId), accountId, serverUrl)
        : undefined
    const before = given ?? own
    const redirectUri = yield* redirectOf(input, publicUrl)
    if (scopes !== undefined && !isScopeList(scopes))
      return yield* wrongField("scopes", scopes, "Input should be scopes with one space between them")
    if ((yield* store.countPending(accountId)) >= mostPending) return yield* tooMany
    const wish: ClientWish = { publicUrl, redirectUri, given: givenClient(input), identity: input.client }
    // Loaded with the first login.
    const { planLogin } = yield* Effect.promise(() => import("./LoginPlans.js"))
    const planned = yield* Effect.catchTag(
      planLogin(serverUrl, { given: scopes, granted: grantedBefore(before), reach }, wish, outbound),
      "GrantRefused",
      (failure) => refusalOf(failure, serverUrl)
    )
    const id = yield* newId(ConnectionLoginId)
    const state = `${id}.${Redacted.value(yield* Token.random)}`
    const owner = {
      id,
      workspace_id: WorkspaceId.make(workspaceId),
      account_id: accountId,
      server_url: serverUrl,
      plan: JSON.stringify(planned.plan)
    }
    const row: ConnectionLoginRow = {
      ...owner,
      connection_id: before?.id ?? null,
      state: "pending",
      reason_message: null,
      label: input.label ?? new URL(serverUrl).host,
      state_hash: Token.digest(Redacted.make(state)),
      sealed: yield* store.seal(owner, planned.secrets),
      created_at: yield* now,
      expires_at: yield* fromNow(lifeMs)
    }
    return { row, authorizeUrl: planned.authorizeUrl(state) }
  })
})

/** Those whose turns are to use it. A connection stays what it is, and one of a person is renewed by that person alone. */
const reachOf = (
  { for: wanted }: ConnectionLoginInput,
  before: ConnectionRow | undefined,
  accountId: AccountId
): Effect.Effect<LoginReach, RequestInvalid> => {
  if (before === undefined) return Effect.succeed(wanted ?? "workspace")
  const owner = ownerOf(JSON.parse(before.settings))
  if (owner !== undefined && owner !== accountId)
    return wrongField("connection_id", before.id, "the connection is of another person, who has to log in")
  const reach = owner === undefined ? "workspace" : "person"
  return wanted === undefined || wanted === reach
    ? Effect.succeed(reach)
    : wrongField("for", wanted, `Input should be ${reach}, as the connection is: leave this out`)
}

const grantedBefore = (before: Pick<ConnectionRow, "settings"> | undefined): string | undefined =>
  before === undefined ? undefined : JSON.parse(before.settings).granted_scopes

const givenClient = ({ client_id, client_secret }: ConnectionLoginInput): ClientWish["given"] =>
  client_id === undefined ? undefined : { id: client_id, secret: client_secret }

/** The address of the server as projects name it. */
const serverUrlOf = (
  { client_id, client_secret, server_url }: ConnectionLoginInput,
  before: ConnectionRow | undefined
): Effect.Effect<string, RequestInvalid> => {
  if (client_secret !== undefined && client_id === undefined)
    return wrongField("client_id", null, "Input should have it with a client_secret")
  const known: string | undefined = before === undefined ? undefined : JSON.parse(before.settings).server_url
  const url = server_url ?? known
  if (url === undefined) return wrongField("server_url", null, "Input should have a server_url or a connection_id")
  if (!isServer(url))
    return wrongField(
      "server_url",
      url,
      "Input should be an http or https URL without credentials and without a fragment"
    )
  return known !== undefined && !isSameServer(known, url)
    ? wrongField("server_url", url, "the connection is for another server: leave this out, or make another connection")
    : Effect.succeed(url)
}

const isServer = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hash, password, protocol, username } = new URL(text)
  return /^https?:$/.test(protocol) && hash === "" && password === "" && username === ""
}

/** The page of the installation, or an address of a program on the machine of the person. */
const redirectOf = (
  { redirect_uri }: ConnectionLoginInput,
  publicUrl: string
): Effect.Effect<string, RequestInvalid> =>
  redirect_uri === undefined
    ? Effect.succeed(pageRedirect(publicUrl))
    : /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d{1,5}\/[A-Za-z0-9._~/-]{0,200}$/.test(redirect_uri) &&
        URL.canParse(redirect_uri)
      ? Effect.succeed(redirect_uri)
      : wrongField(
          "redirect_uri",
          redirect_uri,
          "Input should be like http://127.0.0.1:49152/callback: a port of this machine"
        )

/** Says what is wrong with a field of the body. */
export const wrongField = (field: string, input: unknown, problem: string): Effect.Effect<never, RequestInvalid> =>
  Effect.fail(
    new RequestInvalid({ loc: ["body", field], issue: new ParseResult.Type(Schema.Unknown.ast, input, problem), input })
  )

const tooMany = new ReinsError({
  code: "rate_limited",
  message: "Twenty logins of yours wait for a browser already. Finish one, or wait ten minutes.",
  retryAfterSeconds: lifeMs / 1000
})

/** What cannot be helped by another try is said of the field. */
const refusalOf = (
  { message, reason }: GrantRefused,
  serverUrl: string
): Effect.Effect<never, RequestInvalid | ReinsError<"rate_limited" | "upstream_error" | "upstream_timeout">> => {
  switch (reason) {
    case "timeout":
      return Effect.fail(new ReinsError({ code: "upstream_timeout", message }))
    case "rate_limited":
    case "unreachable":
    case "upstream_error":
      return Effect.fail(new ReinsError({ code: "upstream_error", message }))
    default:
      return wrongField("server_url", serverUrl, message)
  }
}
