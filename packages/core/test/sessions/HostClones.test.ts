import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import type { ConnectionId } from "@reins/base/domain/Ids"
import { Connections } from "@reins/core/connections/Connections"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Repositories } from "@reins/core/worktrees/Repositories"
import type { RepositoryCheck } from "@reins/core/worktrees/RepositoryCheck"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { remote } from "@reins/testing/changes/Fixture"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { appKeys, ForgeApp } from "@reins/testing/forge/ForgeApp"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

const token = "canary-Hq8rT2vX5nB7mK1p"
const basicOf = (given: string) => `Basic ${Buffer.from(`x-access-token:${given}`).toString("base64")}`

/** A repository on a forge that is private unless it is said, and a workspace that connects to it. */
const repository = (kind: KnownForge = "gitea", access: "private" | "public" = "private") =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* ownerWithConnection
    const forge = yield* remote(kind)
    if (access === "private") forge.gate.token = token
    const connections = yield* Connections
    const sessions = yield* Sessions
    const repositories = yield* Repositories
    const trees = yield* WorkingTrees
    const connect = (given: string) =>
      Effect.map(
        connections.create(principal, workspaceId, {
          kind,
          label: kind,
          credential: { base_url: forge.base, token: given }
        }),
        ({ id }) => id
      )
    const begin = (connection_id?: ConnectionId | null) =>
      sessions.create(principal, workspaceId, {
        repository: { url: forge.url, ...(connection_id !== undefined && { connection_id }) },
        prewarm: false
      })
    /** The connection that a session shows. */
    const shown = (id: string) => Effect.map(sessions.get(principal, id), ({ base }) => base.connection_id)
    const look = (more: { readonly anonymous?: boolean; readonly connection_id?: ConnectionId } = {}) =>
      repositories.check(principal, workspaceId, { url: forge.url, ...more })
    return { begin, connect, connections, forge, look, make: trees.make, principal, shown, workspaceId }
  })

for (const { layer, name } of flowDatabases) {
  const run = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provide(effect, services(layer, { allowPrivateHosts: ["127.0.0.1"] }))

  describe(`a clone with the connection of the host on ${name}`, () => {
    it.scopedLive("opens a private repository that nobody has named a connection for", () =>
      run(
        Effect.gen(function* () {
          const { begin, connect, forge, make, shown } = yield* repository()
          const { base, id } = yield* begin()
          assert.strictEqual(base.connection_id, null)
          const refused = yield* Effect.flip(make(id))
          assert.strictEqual(refused.kind, "auth_required")
          assert.include(refused.message, `no connection for ${forge.base}`)
          const connection = yield* connect(token)
          assert.strictEqual((yield* make(id)).tree.state, "ready")
          assert.strictEqual(yield* shown(id), connection)
          assert.strictEqual((yield* begin()).base.connection_id, connection)
        })
      )
    )

    it.scopedLive("takes the connection that the remote takes, of several, and the next session has it at once", () =>
      run(
        Effect.gen(function* () {
          const { begin, connect, make, shown } = yield* repository()
          const right = yield* connect(token)
          const newer = yield* connect("a-token-of-somebody-else")
          const { base, id } = yield* begin()
          assert.strictEqual(base.connection_id, newer)
          assert.strictEqual((yield* make(id)).tree.state, "ready")
          assert.strictEqual(yield* shown(id), right)
          assert.strictEqual((yield* begin()).base.connection_id, right)
        })
      )
    )

    it.scopedLive("needs no credential for a public repository, and sends none", () =>
      run(
        Effect.gen(function* () {
          const { begin, connect, forge, look, make } = yield* repository("gitea", "public")
          const refused = yield* connect("a-token-that-is-refused")
          const { base, id } = yield* begin()
          assert.strictEqual(base.connection_id, refused)
          assert.strictEqual((yield* make(id)).tree.state, "ready")
          assert.deepInclude(yield* look(), { state: "found", ways: [] })
          assert.deepStrictEqual([...new Set(forge.seen)], [""])
        })
      )
    )

    it.scopedLive("asks without a credential where the session says so", () =>
      run(
        Effect.gen(function* () {
          const { begin, connect, forge, look, make } = yield* repository()
          yield* connect(token)
          const { id } = yield* begin(null)
          assert.strictEqual((yield* Effect.flip(make(id))).kind, "auth_required")
          assert.strictEqual((yield* look({ anonymous: true })).state, "auth_required")
          assert.deepStrictEqual([...new Set(forge.seen)], [""])
        })
      )
    )

    it.scopedLive("sends the credential of a named connection, and that of no other", () =>
      run(
        Effect.gen(function* () {
          const { begin, connect, connections, forge, make, principal } = yield* repository()
          const named = yield* connect("a-token-of-somebody-else")
          yield* connect(token)
          const { id } = yield* begin(named)
          assert.include(["auth_required", "not_found"], (yield* Effect.flip(make(id))).kind)
          assert.notInclude(forge.seen, basicOf(token))
          yield* connections.disconnect(principal, named)
          assert.include((yield* Effect.flip(make(id))).message, "revoked")
        })
      )
    )

    it.scopedLive("takes an app that is installed on the owner before a token, and passes over one that is not", () =>
      run(
        Effect.gen(function* () {
          const { connect, connections, forge, look, principal, workspaceId } = yield* repository("github")
          const app = new ForgeApp(forge.repository)
          forge.forge.app = app
          forge.gate.token = ""
          app.isInstalled = false
          const newest = yield* connect(token)
          const credential = { base_url: forge.base, client_id: app.clientId, private_key: appKeys().pkcs1 }
          const input = { kind: "github_app", label: "app", credential }
          const { id } = yield* connections.create(principal, workspaceId, input)
          assert.strictEqual((yield* look()).connection_id, newest)
          app.isInstalled = true
          yield* connections.replaceCredential(principal, id, { credential })
          assert.deepInclude(yield* look(), { state: "found", connection_id: id })
        })
      )
    )
  })
}

describe("the look at a repository", () => {
  const [database] = flowDatabases
  const run = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provide(
      effect,
      services((database ?? assert.fail("no database")).layer, { allowPrivateHosts: ["127.0.0.1"] })
    )

  const forges: ReadonlyArray<readonly [KnownForge, RepositoryCheck["ways"]]> = [
    ["github", ["app", "token"]],
    ["gitlab", ["token"]],
    ["gitea", ["token"]]
  ]
  for (const [kind, ways] of forges)
    it.scopedLive(`tells the ways to a private repository on ${kind}, and takes the connection of the host`, () =>
      run(
        Effect.gen(function* () {
          const { connect, forge, look } = yield* repository(kind)
          const { host } = new URL(forge.base)
          const closed = { state: "auth_required" as const, ref: null, connection_id: null, host, forge: kind, ways }
          assert.deepInclude(yield* look(), closed)
          const wrong = yield* connect("a-token-of-somebody-else")
          assert.deepInclude(yield* look(), { ...closed, connection_id: wrong })
          const right = yield* connect(token)
          const open = { state: "found" as const, ref: "main", host: null, forge: null, ways: [] }
          assert.deepInclude(yield* look(), { ...open, connection_id: right })
          assert.deepInclude(yield* look({ anonymous: true }), closed)
          assert.deepInclude(yield* look({ connection_id: wrong }), { ...closed, connection_id: wrong })
          assert.notInclude(JSON.stringify(yield* look({ connection_id: wrong })), "somebody")
        })
      )
    )

  it.scopedLive("does not know the forge of a host that answers as none", () =>
    run(
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const port = yield* onLoopback(() =>
          createServer((_, response) => response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end())
        )
        const url = `http://127.0.0.1:${port}/a/b.git`
        const check = yield* (yield* Repositories).check(principal, workspaceId, { url })
        assert.deepInclude(check, { host: `127.0.0.1:${port}`, forge: null, ways: ["token"] })
      })
    )
  )
})
