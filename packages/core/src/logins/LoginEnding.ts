import type { AccountId } from "@reins/base/domain/Ids"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Clock, Effect, Redacted } from "effect"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import type { CredentialParts } from "../connections/CredentialParts.js"
import { type GrantAnswer, GrantRefused, type TokenPlace } from "../grants/Grant.js"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import {
  type ConnectionLoginRow,
  ConnectionLoginStore,
  type LoginPlan,
  type LoginSecrets
} from "./ConnectionLoginStore.js"
import { credentialPartsOf } from "./LoginConnection.js"
import type { LoginAnswer } from "./LoginsApi.js"

/** What is written down of a login when its answer has come. */
type Ending = Effect.Effect<void, never, Commit>

/** Gives the function that ends a login: it checks the answer, sends the code once, and tells what to write down. */
export const loginEnding = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const journal = yield* Journal
  const outbound = yield* Outbound
  const store = yield* ConnectionLoginStore

  const failed = (row: ConnectionLoginRow, reason_message: string): Ending =>
    store.end(row.id, { state: "failed", reason_message })

  /** Asks for the tokens. The addresses are those that the login was begun with. */
  const exchange = (plan: LoginPlan, secrets: LoginSecrets, code: string): Effect.Effect<GrantAnswer> => {
    const place: TokenPlace = {
      endpoint: new URL(plan.token_endpoint),
      resource: plan.resource,
      methods: plan.methods ?? undefined,
      issuer: plan.issuer
    }
    const { client_secret, verifier } = secrets
    const client = {
      settings: { client_id: plan.client_id },
      secrets: client_secret === undefined ? {} : { client_secret: Redacted.make(client_secret) }
    }
    const given = { code, redirectUri: plan.redirect_uri, verifier }
    return Effect.flatMap(
      Effect.promise(() => import("../grants/TokenRequest.js")),
      ({ askWithCode }) => askWithCode(place, client, given, outbound)
    )
  }

  const connect = Effect.fnUntraced(function* (
    row: ConnectionLoginRow,
    parts: CredentialParts,
    accountId: AccountId
  ): Effect.fn.Return<void, never, Commit> {
    if (row.connection_id === null) {
      const { label, workspace_id } = row
      const made = yield* connections.insert({ workspace_id, kind: "mcp_oauth", label, prices: null }, parts, accountId)
      yield* noteReady(made)
      return yield* store.end(row.id, { state: "completed", reason_message: null, connection_id: made })
    }
    yield* connections.hold(row.connection_id)
    const before = yield* connections.find(row.connection_id)
    if (before === undefined || before.state === "revoked")
      return yield* failed(row, "The connection was revoked meanwhile. Log in without it, which makes another one.")
    yield* connections.replaceCredential(before, parts, accountId)
    yield* noteReady(before.id)
    yield* store.end(row.id, { state: "completed", reason_message: null })
  })

  /** The authorization server has taken the credential a moment ago. */
  const noteReady = Effect.fnUntraced(function* (connectionId: string): Effect.fn.Return<void, never, Commit> {
    const row = yield* connections.find(connectionId)
    if (row?.credential_id != null) yield* connections.observe(row.id, row.credential_id, "ready")
  })

  return Effect.fnUntraced(function* (
    row: ConnectionLoginRow,
    answer: LoginAnswer,
    accountId: AccountId
  ): Effect.fn.Return<Ending> {
    const plan: LoginPlan = JSON.parse(row.plan)
    const problem = problemOf(plan, answer)
    const { code } = answer
    // Of two callers with the same code one sends it. A second use would end the tokens of the first.
    if (!(yield* journal.commit(store.claim(row.id)))) return Effect.void
    if (problem !== undefined || code === undefined) return failed(row, problem ?? noCode(plan))
    const secrets = yield* store.open(row)
    if (secrets === undefined) return failed(row, "The keys of the installation have changed meanwhile. Begin again.")
    const { found, replaced } = yield* exchange(plan, secrets, code)
    if (found instanceof GrantRefused) return failed(row, found.message)
    const nowMs = yield* Clock.currentTimeMillis
    const parts = credentialPartsOf({ serverUrl: row.server_url, plan, secrets, found, replaced, nowMs, accountId })
    return connect(row, parts, accountId)
  })
})

const hostIn = ({ issuer }: LoginPlan): string => new URL(issuer).host

const noCode = (plan: LoginPlan): string => `${hostIn(plan)} has sent no code with the browser. Begin again.`

/** Refusals that RFC 6749 and OpenID Connect name. Another word may be anything, so nobody is told of it. */
const knownErrors: ReadonlySet<string> = new Set([
  "account_selection_required",
  "consent_required",
  "interaction_required",
  "invalid_request",
  "invalid_scope",
  "invalid_target",
  "login_required",
  "server_error",
  "temporarily_unavailable",
  "unauthorized_client",
  "unsupported_response_type"
])

/** Why an answer is no permission; undefined for one that may be. An answer of another server than the one that was asked is none (RFC 9207). */
const problemOf = (plan: LoginPlan, { error, iss }: LoginAnswer): string | undefined => {
  const host = hostIn(plan)
  if (iss === undefined && plan.names_itself)
    return `The answer does not say that it is of ${host}, as ${host} promises. Nothing was sent. Begin again.`
  if (iss !== undefined && iss !== plan.issuer)
    return `The answer is of another server than ${host}. Nothing was sent. Begin again, and trust no link to this page.`
  if (error === "access_denied") return `The access was refused at ${host}. Nothing was connected.`
  if (error === undefined) return undefined
  return `${host} lets nobody in (${knownErrors.has(error) ? error : "for a reason of its own"}). Begin again, or ask whoever runs it.`
}
