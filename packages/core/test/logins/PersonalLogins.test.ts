import { assert, describe, it } from "@effect/vitest"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { now } from "@reins/base/domain/Timestamp"
import { Connections } from "@reins/core/connections/Connections"
import { ServerChecks } from "@reins/core/mcp/ServerChecks"
import { Projects } from "@reins/core/projects/Projects"
import { Database } from "@reins/core/store/Database"
import type { McpServer } from "@reins/testing/mcp/McpServer"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { stranger } from "../identity/Principals.js"
import { begin as beginTurn, key, newsOf, project } from "../mcp/ServerAgent.js"
import { lab, loggedIn } from "./Lab.js"

/** The tokens of the calls of a tool, in their order. */
const tokensOf = ({ asked }: McpServer): ReadonlyArray<string> =>
  asked
    .filter(({ body }) => body.includes('"tools/call"'))
    .map(({ headers }) => String(headers.authorization).replace("Bearer ", ""))

/** Another member of the workspace. */
const mia = Effect.fnUntraced(function* (workspaceId: string) {
  const { run, sql } = yield* Database
  const principal = yield* stranger
  const member = { workspace_id: workspaceId, account_id: principal.accountId, role: "member", created_at: yield* now }
  yield* run(sql`insert into workspace_members ${sql.insert(member)}`)
  return principal
})

for (const { layer: database, name } of flowDatabases) {
  describe(`a server at which each person logs in, on ${name}`, () => {
    const withServices = Effect.provide(services(database, { allowPrivateHosts: ["127.0.0.1"] }))

    it.scopedLive("a turn uses the login of the person whose message it answers, and nobody else's", () =>
      Effect.gen(function* () {
        const given = yield* lab
        const { issuer, principal, server, workspaceId } = given
        issuer.isStatic = true
        const other = yield* mia(workspaceId)
        const named = { name: "lab", url: server.url, login: "person" as const, allow: ["get_issue"] }
        const made = yield* project(named, false)
        const check = (by: Principal) =>
          Effect.flatMap(ServerChecks, (checks) =>
            Effect.map(checks.check(by, made.project.id, {}), ({ servers }) => servers[0]?.state)
          )
        const first = yield* loggedIn(given, { for: "person" })
        assert.deepInclude(first.ended, { state: "completed", for: "person" })
        assert.strictEqual(yield* check(principal), "reached")
        assert.strictEqual(yield* check(other), "auth_required")

        const ofOwner = yield* beginTurn(made)
        assert.isFalse((yield* ofOwner.call("get_issue", { number: 1 })).is_error)
        const ofMia = yield* beginTurn({ ...made, principal: other })
        const refused = yield* ofMia.call("get_issue", { number: 2 })
        assert.isTrue(refused.is_error)
        assert.include(refused.text, "Each person logs in")
        assert.strictEqual((yield* newsOf(ofMia.session.id))[0]?.[0], "mcp.server_unavailable")
        assert.lengthOf(tokensOf(server), 1)

        yield* loggedIn(given, { for: "person" }, other)
        assert.strictEqual(yield* check(other), "reached")
        assert.isFalse((yield* ofMia.call("get_issue", { number: 3 })).is_error)
        assert.isFalse((yield* ofOwner.call("get_issue", { number: 4 })).is_error)
        assert.deepStrictEqual(tokensOf(server), [`${key}-access-1`, `${key}-access-2`, `${key}-access-1`])

        // A new login of a person renews the connection of that person.
        const again = yield* loggedIn(given, { for: "person" })
        assert.strictEqual(again.ended.connection_id, first.ended.connection_id)
      }).pipe(withServices)
    )

    it.scopedLive(
      "the connection of a person is of no project, is renewed by that person alone, and goes with the account",
      () =>
        Effect.gen(function* () {
          const given = yield* lab
          const { begin, principal, server, workspaceId } = given
          const other = yield* mia(workspaceId)
          const connections = yield* Connections
          const { ended } = yield* loggedIn(given, { for: "person" }, other)
          const connection_id = ended.connection_id ?? assert.fail("there is no connection")
          const { settings } = yield* connections.get(principal, connection_id)
          assert.strictEqual(settings["account_id"], other.accountId)

          const problemOf = <A, R>(effect: Effect.Effect<A, unknown, R>) =>
            Effect.map(Effect.flip(effect), (error) =>
              error instanceof RequestInvalid || error instanceof ReinsError ? error.message : String(error)
            )
          const spec = {
            tools: { mcp_servers: [{ name: "lab", url: server.url, connection_id, allow: ["get_issue"] }] }
          }
          const publish = (yield* Projects).create(principal, workspaceId, { slug: "theirs", name: "Theirs", spec })
          assert.include(yield* problemOf(publish), "is of one person")
          assert.include(yield* problemOf(begin({ connection_id })), "is of another person")
          assert.include(yield* problemOf(begin({ connection_id, for: "workspace" }, other)), "Input should be person")

          // A request cannot make a connection that acts for somebody.
          const credential = { server_url: server.url, client_id: "a", access_token: "b", account_id: other.accountId }
          const forged = yield* Effect.either(
            connections.create(principal, workspaceId, { kind: "mcp_oauth", label: "forged", credential })
          )
          if (forged._tag === "Right") assert.isUndefined(forged.right.settings["account_id"])
          const replaced = yield* connections.replaceCredential(principal, connection_id, {
            credential: { server_url: server.url, client_id: "a", access_token: "b" }
          })
          assert.isUndefined(replaced.settings["account_id"])
        }).pipe(withServices)
    )
  })
}
