import { assert, describe, it } from "@effect/vitest"
import type { ConnectionId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { AccessTokens } from "@reins/core/connections/AccessTokens"
import { Connections } from "@reins/core/connections/Connections"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { ServerChecks } from "@reins/core/mcp/ServerChecks"
import type { ProjectServer } from "@reins/core/projects/ProjectServer"
import { Projects } from "@reins/core/projects/Projects"
import { Database } from "@reins/core/store/Database"
import { type AuthorizationServer, authorizationServer } from "@reins/testing/mcp/AuthorizationServer"
import { type McpServer, mcpServer } from "@reins/testing/mcp/McpServer"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Context, Effect, Fiber, Layer, Redacted } from "effect"
import { connect, validated } from "../connections/ValidatedGateway.js"
import { begin, key, newsOf, project } from "./ServerAgent.js"

const serverOf = ({ url }: McpServer, connection_id: ConnectionId): ProjectServer => ({
  name: "lab",
  url,
  connection_id,
  allow: ["get_issue", "add_comment"]
})

const credentialOf = ({ url }: McpServer, { refreshToken }: AuthorizationServer) => ({
  server_url: url,
  client_id: "reins",
  refresh_token: refreshToken
})

/** A server that takes the tokens of an authorization server, and a connection with a refresh token. */
const lab = Effect.gen(function* () {
  const issuer = yield* authorizationServer(key)
  const server = yield* mcpServer(issuer.good)
  server.authorization = [issuer.url]
  const { id, principal } = yield* connect("mcp_oauth", credentialOf(server, issuer))
  return { id, issuer, principal, server, named: serverOf(server, id) }
})

/** The memory of another process on the same database. */
const node = Effect.map(Layer.build(Layer.fresh(AccessTokens.layer)), Context.get(AccessTokens))

const sent = ({ forms }: AuthorizationServer) => forms.map((form) => form.get("refresh_token"))

const stateOf = (given: Effect.Effect.Success<ReturnType<typeof project>>) =>
  Effect.gen(function* () {
    const { servers } = yield* (yield* ServerChecks).check(given.principal, given.project.id, {})
    return servers[0] ?? (yield* Effect.dieMessage("there is no server"))
  })

for (const { layer: database, name } of flowDatabases) {
  describe(`servers with OAuth on ${name}`, () => {
    const withServices = Effect.provide(services(database, { allowPrivateHosts: ["127.0.0.1"] }))

    it.scopedLive("an agent calls with tokens that it never has, also after one has ended in its turn", () =>
      Effect.gen(function* () {
        const { id, issuer, named, principal, server } = yield* lab
        const agent = yield* begin(yield* project(named, false))
        assert.deepStrictEqual((yield* agent.offered)?.at(-1), "lab get_issue add_comment")
        const first = yield* agent.call("get_issue", { number: 7 })
        assert.isFalse(first.is_error)
        assert.include(first.text, "[secret]")
        assert.deepInclude(Object.fromEntries(issuer.forms[0] ?? []), {
          grant_type: "refresh_token",
          client_id: "reins",
          resource: server.url
        })
        issuer.good.clear()
        assert.isFalse((yield* agent.call("get_issue", { number: 8 })).is_error)
        assert.deepStrictEqual(sent(issuer), [`${key}-refresh-0`, `${key}-refresh-1`])
        const { all, sql } = yield* Database
        const events = yield* all(sql`select envelope from events`)
        const connection = yield* (yield* Connections).get(principal, id)
        for (const seen of [first, yield* agent.offer, yield* agent.records, events, connection])
          assert.notInclude(JSON.stringify(seen), key)
        assert.strictEqual(connection.health, "ready")
      }).pipe(withServices)
    )

    it.scopedLive("a credential that is refused in a turn is told with what to do, and is not sent again", () =>
      Effect.gen(function* () {
        const { id, issuer, named, principal, server } = yield* lab
        const given = yield* project(named, false)
        const agent = yield* begin(given)
        assert.isFalse((yield* agent.call("get_issue")).is_error)
        issuer.good.clear()
        issuer.refreshToken = `${key}-of-somebody-else`
        const refused = yield* agent.call("get_issue")
        assert.isTrue(refused.is_error)
        assert.include(refused.text, "did not do it")
        assert.include(refused.text, "give the connection the new credential")
        assert.notInclude(refused.text, key)
        assert.deepStrictEqual((yield* agent.records).map(({ state }) => state).sort(), ["failed", "succeeded"])
        const asked = issuer.forms.length
        const seen = yield* stateOf(given)
        assert.strictEqual(seen.state, "auth_required")
        assert.include(seen.problem ?? "", "new credential")
        assert.isTrue((yield* agent.call("get_issue")).is_error)
        assert.strictEqual(
          yield* Effect.map((yield* Connections).get(principal, id), ({ health }) => health),
          "reauth_required"
        )
        yield* agent.offered
        const [news] = yield* newsOf(agent.session.id)
        assert.strictEqual(news?.[0], "mcp.server_unavailable")
        assert.strictEqual(issuer.forms.length, asked)
        assert.lengthOf(server.calls, 1)
        // A validation is the trial that a person asks for.
        assert.strictEqual((yield* validated(id)).ended?.state, "failed")
        assert.strictEqual(issuer.forms.length, asked + 1)
        yield* (yield* Connections).replaceCredential(principal, id, { credential: credentialOf(server, issuer) })
        assert.strictEqual((yield* stateOf(given)).state, "reached")
        assert.isFalse((yield* agent.call("get_issue")).is_error)
      }).pipe(withServices)
    )

    it.scopedLive("two nodes at once use each refresh token once", () =>
      Effect.gen(function* () {
        const { id, issuer, server } = yield* lab
        const given = yield* project(serverOf(server, id), false)
        const nodes = [yield* node, yield* node]
        let free = () => {}
        issuer.hold = new Promise((resolve) => {
          free = resolve
        })
        const callers = nodes.flatMap((tokens) =>
          Array.from({ length: 5 }, () => tokens.of(given.workspaceId, id, () => Effect.void))
        )
        const all = yield* Effect.fork(Effect.all(callers, { concurrency: "unbounded" }))
        yield* Effect.repeat(Effect.yieldNow(), { until: () => issuer.forms.length > 0 })
        free()
        const bearers = yield* Fiber.join(all)
        assert.deepStrictEqual(sent(issuer), [`${key}-refresh-0`, `${key}-refresh-1`])
        assert.strictEqual(new Set(bearers.map(({ token }) => Redacted.value(token))).size, 2)
      }).pipe(withServices)
    )

    it.scopedLive(
      "a process that dies with a refresh token in use is waited for, and a lost answer makes no loop",
      () =>
        Effect.gen(function* () {
          const { id, issuer, server } = yield* lab
          const given = yield* project(serverOf(server, id), false)
          const db = yield* Database
          const until = yield* db.clock.at(1500)
          yield* db.run(db.sql`update credentials set refresh_holder = 'dead', refresh_until = ${until}
          where connection_id = ${id}`)
          const token = (tokens: AccessTokens["Type"]) => tokens.of(given.workspaceId, id, () => Effect.void)
          yield* token(yield* node)
          assert.isTrue((yield* db.clock.at(0)) >= until)
          // The server has used the token up, and nobody has stored the next one.
          issuer.manner = "lost"
          assert.strictEqual((yield* Effect.flip(token(yield* node)))._tag, "GrantRefused")
          issuer.manner = "good"
          for (const tokens of [yield* node, yield* node, yield* node]) {
            const failure = yield* Effect.flip(token(tokens))
            assert.strictEqual("reason" in failure && failure.reason, "credential_refused")
            assert.notInclude(failure.message, key)
          }
          assert.deepStrictEqual(sent(issuer), [`${key}-refresh-0`, `${key}-refresh-1`, `${key}-refresh-1`])
          assert.strictEqual((yield* stateOf(given)).state, "auth_required")
        }).pipe(withServices)
    )

    it.scopedLive("no secret goes to another authorization server, nor where a redirect leads", () =>
      Effect.gen(function* () {
        const { id, issuer, server } = yield* lab
        const given = yield* project(serverOf(server, id), false)
        const evil = yield* authorizationServer("evil")
        const token = Effect.flatMap(node, (tokens) => tokens.of(given.workspaceId, id, () => Effect.void))
        issuer.manner = "misnamed"
        assert.include((yield* Effect.flip(token)).message, "another authorization server")
        issuer.manner = "redirect"
        issuer.elsewhere = `${evil.url}/token`
        assert.include((yield* Effect.flip(token)).message, "redirect")
        issuer.manner = "down"
        assert.include((yield* Effect.flip(token)).message, "failed")
        issuer.manner = "good"
        yield* token
        const asked = issuer.forms.length
        server.authorization = [evil.url]
        assert.include((yield* Effect.flip(token)).message, "no longer names")
        assert.strictEqual(issuer.forms.length, asked)
        assert.lengthOf(evil.forms, 0)
        server.authorization = [issuer.url]
        yield* token
      }).pipe(withServices)
    )

    it.scopedLive("a version names connections of its workspace for their own server alone", () =>
      Effect.gen(function* () {
        const { issuer, named, principal, server } = yield* lab
        const projects = yield* Projects
        const { connection: gateway, workspaceId } = yield* project(named, false)
        const refusal = (server: ProjectServer, slug: string) => {
          const spec = { tools: { mcp_servers: [server] } }
          return Effect.flip(projects.create(principal, workspaceId, { slug, name: "Shop", spec }))
        }
        const strange = yield* refusal({ ...named, url: server.url.replace("/mcp", "/other") }, "a")
        assert.isTrue(strange instanceof RequestInvalid && strange.loc.at(-1) === "connection_id")
        const keyed = yield* refusal({ ...named, connection_id: gateway.id }, "b")
        assert.isTrue(keyed instanceof RequestInvalid)
        const { id: elsewhere } = yield* (yield* Workspaces).create(principal, { name: "Another" })
        const { id: foreign } = yield* (yield* Connections).create(principal, elsewhere, {
          kind: "mcp_oauth",
          label: "foreign",
          credential: credentialOf(server, issuer)
        })
        const hidden = yield* refusal({ ...named, connection_id: foreign }, "d")
        assert.isTrue(hidden instanceof ReinsError && hidden.code === "not_found")
        const gone = yield* refusal({ ...named, connection_id: "con_01k0000000000000000000000a" as ConnectionId }, "c")
        assert.isTrue(gone instanceof ReinsError && gone.code === "not_found")
      }).pipe(withServices)
    )

    it.scopedLive("a connection that a version names is not revoked under a turn, and is told once it is", () =>
      Effect.gen(function* () {
        const { id, named, principal } = yield* lab
        const given = yield* project(named, false)
        const connections = yield* Connections
        assert.strictEqual((yield* stateOf(given)).state, "reached")
        const agent = yield* begin(given)
        yield* agent.offered
        assert.strictEqual((yield* Effect.flip(connections.disconnect(principal, id))).code, "connection_in_use")
        yield* (yield* Database).run((yield* Database).sql`update turns set state = 'completed'`)
        yield* connections.disconnect(principal, id)
        const seen = yield* stateOf(given)
        assert.strictEqual(seen.state, "auth_required")
        assert.include(seen.problem ?? "", "was revoked")
        assert.isTrue((yield* agent.call("get_issue")).is_error)
      }).pipe(withServices)
    )

    it.scopedLive("a client asks in its own name with its secret", () =>
      Effect.gen(function* () {
        const issuer = yield* authorizationServer(key)
        const server = yield* mcpServer(issuer.good)
        server.authorization = [issuer.url]
        const client_secret = `${key}-client`
        const credential = { server_url: server.url, client_id: "reins", client_secret, scopes: "read write" }
        const { id } = yield* connect("mcp_oauth", credential)
        assert.strictEqual((yield* validated(id)).health, "ready")
        assert.deepStrictEqual(Object.fromEntries(issuer.forms[0] ?? []), {
          grant_type: "client_credentials",
          scope: "read write",
          resource: server.url,
          client_id: "reins",
          client_secret
        })
        assert.strictEqual((yield* stateOf(yield* project(serverOf(server, id), false))).state, "reached")
      }).pipe(withServices)
    )

    it.scopedLive("a private address is not asked", () =>
      Effect.gen(function* () {
        const { id, issuer, named, server } = yield* lab
        const seen = yield* stateOf(yield* project(named, false))
        assert.strictEqual(seen.state, "unreachable")
        assert.strictEqual((yield* validated(id)).ended?.reason, "address_refused")
        assert.lengthOf([...issuer.forms, ...server.asked], 0)
      }).pipe(Effect.provide(services(database)))
    )
  })
}
